"""Whole runs, each played four ways: asyncio and sync, over the socket and over TCP, always with default options."""

import json
import statistics
import time

from toolbooth.v1.execution_pb2 import (
    DELIVERY_BATCH,
    REJECT_REASON_UNKNOWN_CALL,
    ArgumentsDelta,
    Batch,
    BatchEnd,
    BatchStart,
    CallEnd,
    CallStart,
    Cancel,
    EndRun,
    ToolProgress,
)
from toolbooth.v1.types_pb2 import (
    CONTRACT_STATUS_ACCEPTED,
    ERROR_CODE_ALREADY_ACCEPTED,
    ERROR_CODE_CANCELLED,
    ERROR_CODE_INVALID_ARGUMENTS,
    RETRY_CLASS_CORRECT,
    VERDICT_REASON_ALL_TERMINATE,
    VERDICT_REASON_NOT_ALL,
    Finish,
    ToolCall,
)

from client import Client, call, outcome, text

ANALYSIS = {
    "name": "first",
    "parameters": ["items"],
    "summary": "Gives the first item.",
    "emptyInputBehavior": None,
    "evidence": "return items[0]",
}


def add(a: float, b: float) -> str:
    return str(a + b)


def test_a_whole_run_from_a_mistake_to_the_accepted_submission(client: Client):
    run = client.run()
    opened = run.open()
    assert opened.protocol_version == 1
    assert opened.booth.startswith("toolbooth")
    assert opened.run_id
    mistaken = run.play([call("c1", "submit_analysis", ANALYSIS | {"evidence": 42})])
    assert mistaken.result("c1").error.code == ERROR_CODE_INVALID_ARGUMENTS
    assert mistaken.verdict.tool_choice == "submit_analysis"
    asked = run.play([call("c2", "add", {"a": 40, "b": 2})], {"add": add})
    assert text(asked.result("c2")) == "42"
    assert asked.result("c2").executed
    submitted = run.play([call("c3", "submit_analysis", ANALYSIS)])
    assert submitted.verdict.terminate
    assert submitted.verdict.reason == VERDICT_REASON_ALL_TERMINATE
    [accepted] = submitted.verdict.accepted
    assert (accepted.run_id, accepted.call_id) == (opened.run_id, "c3")
    assert json.loads(accepted.arguments) == ANALYSIS
    run.end()


def test_the_host_executes_its_tool_with_the_validated_arguments(client: Client):
    run = client.run()
    run.open(host="ends/1")
    sent = '{"filePath": "notes.txt"}'
    played = run.play([call("c1", "read_file", sent)], {"read_file": lambda path: f"read {path}"})
    [execute] = played.executed
    assert (execute.call_id, execute.tool, execute.attempt) == ("c1", "read_file", 1)
    assert execute.arguments == b'{"path":"notes.txt"}'
    assert execute.timeout.seconds == 10
    assert execute.idempotency_key
    result = played.result("c1")
    assert (text(result), result.is_error, result.executed) == ("read notes.txt", False, True)
    assert result.raw_arguments == sent.encode()
    assert [(repair.op, repair.path) for repair in result.repairs] == [("rename_key", "/path")]
    assert played.finished.call_ids == ["c1"]
    assert (played.verdict.terminate, played.verdict.reason) == (False, VERDICT_REASON_NOT_ALL)
    assert played.verdict.blocking == [0]
    run.end()


def test_arguments_that_break_the_contract_never_reach_the_host(client: Client):
    run = client.run()
    run.open()
    calls = [call("good", "add", {"a": 1, "b": 2}), call("bad", "add", {"a": "one", "c": 3})]
    played = run.play(calls, {"add": add})
    assert [execute.call_id for execute in played.executed] == ["good"]
    assert text(played.result("good")) == "3"
    refused = played.result("bad")
    assert (refused.is_error, refused.executed, refused.arguments) == (True, False, b"")
    assert refused.error.code == ERROR_CODE_INVALID_ARGUMENTS
    assert refused.error.retry == RETRY_CLASS_CORRECT
    broken = {(violation.instance_path, violation.property, violation.keyword) for violation in refused.error.violations}
    assert broken == {("/a", "", "type"), ("", "b", "required"), ("", "c", "additionalProperties")}
    assert text(refused) == refused.error.message
    assert text(refused).startswith('Validation failed for tool "add":')
    assert "  - a: expected number, got string" in text(refused).splitlines()
    run.end()


def test_the_calls_of_a_batch_keep_their_order_however_they_are_answered(client: Client):
    run = client.run()
    run.open(delivery=DELIVERY_BATCH)
    run.say(batch_id="b1", batch=Batch(calls=[call(f"c{n}", "add", {"a": n, "b": 0}) for n in range(4)]))
    asked = run.asked(4)
    assert [(frame.index, frame.execute.call_id) for frame in asked] == [(0, "c0"), (1, "c1"), (2, "c2"), (3, "c3")]
    for index in (2, 0, 3, 1):
        run.say(batch_id="b1", index=index, tool_outcome=outcome(f"answer {index}"))
    played = run.rest()
    assert [(result.index, result.call_id, text(result)) for result in played.results] == [
        (n, f"c{n}", f"answer {n}") for n in range(4)
    ]
    assert played.finished.call_ids == ["c0", "c1", "c2", "c3"]
    assert played.verdict.blocking == [0, 1, 2, 3]
    run.end()


def test_arguments_in_pieces_may_cut_a_character_in_two(client: Client):
    run = client.run()
    run.open()
    sent = '{"text":"Zürich 🚋 10 €"}'.encode()
    run.say(batch_id="b1", batch_start=BatchStart())
    for index in range(2):
        run.say(batch_id="b1", index=index, call_start=CallStart(id=f"c{index}", name="echo"))
    # Byte by byte and in turns: each character of more than one byte is cut, in both calls.
    for at in range(len(sent)):
        for index in range(2):
            run.say(batch_id="b1", index=index, arguments_delta=ArgumentsDelta(data=sent[at : at + 1]))
    for index in range(2):
        run.say(batch_id="b1", index=index, call_end=CallEnd())
    run.say(batch_id="b1", batch_end=BatchEnd(finish=Finish(raw="tool_calls")))
    played = run.rest()
    assert played.finished.call_ids == ["c0", "c1"]
    for call_id in played.finished.call_ids:
        result = played.result(call_id)
        assert result.raw_arguments == sent
        assert (result.is_error, json.loads(text(result))) == (False, {"text": "Zürich 🚋 10 €"})
    run.end()


def test_a_sign_of_life_of_the_host_is_passed_on(client: Client):
    run = client.run()
    run.open()
    run.say(batch_id="b1", batch=Batch(calls=[call("c1", "wait", {})]))
    run.asked(1)
    run.say(batch_id="b1", index=0, tool_progress=ToolProgress(progress=1, total=4, message="a quarter"))
    heard = run.hear("progress")
    assert (heard.batch_id, heard.index) == ("b1", 0)
    assert (heard.progress.progress, heard.progress.total, heard.progress.message) == (1, 4, "a quarter")
    run.say(batch_id="b1", index=0, tool_outcome=outcome("done"))
    assert text(run.rest().result("c1")) == "done"
    run.end()


def test_a_cancelled_call_is_taken_back_from_the_host_and_the_others_go_on(client: Client):
    run = client.run()
    run.open()
    run.say(batch_id="b1", batch=Batch(calls=[call("c0", "wait", {}), call("c1", "wait", {})]))
    run.asked(2)
    run.say(batch_id="b1", index=0, cancel=Cancel(reason="the user left"))
    told = [run.read(), run.read()]
    by_kind = {frame.WhichOneof("frame"): frame for frame in told}
    assert (by_kind["cancel_execution"].index, by_kind["cancel_execution"].cancel_execution.call_id) == (0, "c0")
    cancelled = by_kind["call_finished"].call_finished
    assert (cancelled.call_id, cancelled.is_error, cancelled.executed) == ("c0", True, True)
    assert cancelled.error.code == ERROR_CODE_CANCELLED
    # An outcome that comes late changes nothing.
    run.say(batch_id="b1", index=0, tool_outcome=outcome("too late"))
    run.say(batch_id="b1", index=1, tool_outcome=outcome("in time"))
    played = run.rest()
    assert [(result.call_id, text(result)) for result in played.results] == [("c1", "in time")]
    assert not played.verdict.terminate
    run.end()


def test_a_submission_is_accepted_once_repeated_and_otherwise_refused(client: Client):
    run = client.run()
    run.open()
    first = run.play([call("c1", "submit_analysis", ANALYSIS)])
    assert (first.result("c1").executed, first.result("c1").terminate, first.result("c1").replayed) == (True, True, False)
    assert (first.verdict.terminate, first.verdict.reason) == (True, VERDICT_REASON_ALL_TERMINATE)
    assert [json.loads(accepted.arguments) for accepted in first.verdict.accepted] == [ANALYSIS]
    # The same value, spelled in another way.
    again = run.play([call("c2", "submit_analysis", json.dumps(dict(reversed(ANALYSIS.items())), indent=2))])
    assert (again.result("c2").replayed, again.result("c2").executed) == (True, False)
    assert text(again.result("c2")) == text(first.result("c1"))
    assert again.verdict.terminate
    other = run.play([call("c3", "submit_analysis", ANALYSIS | {"name": "last"})])
    assert (other.result("c3").error.code, other.result("c3").executed) == (ERROR_CODE_ALREADY_ACCEPTED, False)
    assert not other.verdict.terminate
    assert [json.loads(accepted.arguments)["name"] for accepted in other.verdict.accepted] == ["first"]
    run.end()


def test_a_host_may_bring_contracts_of_its_own(client: Client):
    contract = {"name": "upper", "parameters": {"type": "object", "required": ["word"]}, "execute": {"host": {}}}
    run = client.run()
    [report] = run.open(contracts=[json.dumps(contract).encode()]).contracts
    assert (report.name, report.status) == ("upper", CONTRACT_STATUS_ACCEPTED)
    played = run.play([call("c1", "upper", {"word": "booth"}), call("c2", "upper", {})], {"upper": lambda word: word.upper()})
    assert text(played.result("c1")) == "BOOTH"
    assert played.result("c2").error.violations[0].property == "word"
    run.end()


def test_a_frame_that_cannot_be_used_is_answered_and_the_run_goes_on(client: Client):
    run = client.run()
    run.open()
    run.say(frame_id=7, batch_id="b1", index=0, tool_outcome=outcome("nobody asked"))
    rejected = run.hear("frame_rejected")
    assert (rejected.reply_to, rejected.frame_rejected.reason) == (7, REJECT_REASON_UNKNOWN_CALL)
    assert text(run.play([call("c1", "add", {"a": 1, "b": 2})], {"add": add}).result("c1")) == "3"
    run.say(end_run=EndRun(reason="enough"))
    assert run.read() is None


def test_a_model_that_gives_no_id_gets_one(client: Client):
    run = client.run()
    run.open()
    played = run.play([ToolCall(name="echo", arguments=b'{"text":"a"}'), ToolCall(name="echo", arguments=b'{"text":"b"}')])
    ids = played.finished.call_ids
    assert len(set(ids)) == 2
    assert [text(played.result(call_id)) for call_id in ids] == ['{"text":"a"}', '{"text":"b"}']
    run.end()


def test_a_call_back_waits_for_no_delayed_acknowledgement(client: Client):
    run = client.run()
    run.open()
    took = []
    for n in range(20):
        since = time.monotonic()
        run.play([call(f"c{n}", "add", {"a": n, "b": 1})], {"add": add})
        took.append(time.monotonic() - since)
    # Where small frames wait for each other (TCP without TCP_NODELAY), the system delays each by 40 ms.
    assert statistics.median(took) < 0.03
    run.end()
