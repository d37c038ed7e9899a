"""Runs that outlive their connection: each played four ways, as the whole runs are."""

from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from toolbooth.v1.execution_pb2 import (
    ON_DISCONNECT_CANCEL,
    ON_DISCONNECT_KEEP,
    Batch,
    ExecuteBatchRequest,
    GetRunRequest,
    Open,
)
from toolbooth.v1.types_pb2 import ERROR_CODE_CANCELLED, ERROR_CODE_UNSPECIFIED

from client import CLIENTS, Client, call, outcome, text
from line import Line

KEPT = {"resume_grace": Duration(seconds=30), "on_disconnect": ON_DISCONNECT_KEEP}
CALLS = [call("c0", "echo", {"text": "a"}), call("c1", "wait", {}), call("c2", "wait", {"n": 1})]


@pytest.fixture
def line(target: str) -> Iterator[Line]:
    with Line(target) as line:
        yield line


@pytest.fixture(params=CLIENTS)
def clients(request, target: str, line: Line) -> Iterator[tuple[Client, Client]]:
    """A plain client over a line that can be cut, and another one of its kind."""
    pair = CLIENTS[request.param](line.target), CLIENTS[request.param](target)
    yield pair
    for client in pair:
        client.close()


def wait_while_led(client: Client, run_id: str) -> None:
    """Returns when the booth has seen that the host is gone."""
    while client.call("GetRun", GetRunRequest(run_id=run_id)).run.is_led:
        pass


def test_a_host_whose_line_is_cut_comes_back_for_the_rest_and_hears_old_batches_again(clients, line: Line):
    lost, found = clients
    run = lost.run()
    opened = run.open(**KEPT)
    assert opened.resume_grace.seconds == 30
    first = run.play([call("c9", "word_count", {"text": "one two"})], batch_id="b1")
    run.say(batch_id="b2", batch=Batch(calls=CALLS))
    asked = run.asked(2)
    assert [frame.execute.again for frame in asked] == [False, False]
    run.say(batch_id="b2", index=1, tool_outcome=outcome("before"))
    while run.read().call_finished.call_id != "c1":
        pass
    line.cut()
    with pytest.raises(grpc.RpcError):
        run.read()

    run = found.run()
    opened = run.open(run_id=opened.run_id, resume=True)
    assert (opened.resumed, opened.running_batch_id, opened.last_batch_id) == (True, "b2", "b1")
    rest = run.rest({"wait": lambda n: f"after {n}"})
    [execute] = rest.executed
    assert (execute.call_id, execute.again) == ("c2", True)
    assert execute.idempotency_key == asked[1].execute.idempotency_key
    assert {result.call_id: text(result) for result in rest.results} == {
        "c0": '{"text":"a"}',
        "c1": "before",
        "c2": "after 1",
    }
    assert rest.finished.call_ids == ["c0", "c1", "c2"]

    again = run.play([call("c9", "word_count", {"text": "one two"})], batch_id="b1")
    [replayed], [original] = again.results, first.results
    assert (replayed.replayed, replayed.executed, original.replayed, original.executed) == (True, False, False, True)
    assert text(replayed) == text(original)
    again = run.play(CALLS, batch_id="b2")
    assert (again.executed, [result.replayed for result in again.results]) == ([], [True] * 3)
    run.end()


def test_calls_are_cancelled_while_their_host_is_away_if_it_has_said_so(clients, line: Line):
    lost, found = clients
    run = lost.run()
    opened = run.open(**KEPT | {"on_disconnect": ON_DISCONNECT_CANCEL})
    run.say(batch_id="b1", batch=Batch(calls=CALLS[:2]))
    run.asked(1)
    line.cut()
    run = found.run()
    # Whoever resumes a run that is still led takes it over, and nothing is cancelled.
    wait_while_led(found, opened.run_id)
    assert run.open(run_id=opened.run_id, resume=True).running_batch_id == "b1"
    rest = run.rest()
    assert [rest.result(id).error.code for id in ("c0", "c1")] == [ERROR_CODE_UNSPECIFIED, ERROR_CODE_CANCELLED]
    run.end()


def test_whoever_resumes_a_run_leads_it_and_the_other_stream_is_told(clients):
    first, second = clients
    led = first.run()
    opened = led.open(**KEPT)
    led.say(batch_id="b1", batch=Batch(calls=CALLS[1:2]))
    led.asked(1)
    leads = second.run()
    assert leads.open(run_id=opened.run_id, resume=True).running_batch_id == "b1"
    with pytest.raises(grpc.RpcError) as ended:
        led.read()
    assert ended.value.code() is grpc.StatusCode.ABORTED
    assert text(leads.rest({"wait": lambda: "led"}).result("c1")) == "led"
    leads.end()


def test_a_run_without_a_grace_is_gone_with_its_stream(clients, line: Line):
    lost, found = clients
    run = lost.run()
    opened = run.open(on_disconnect=ON_DISCONNECT_KEEP)
    line.cut()
    with pytest.raises(grpc.RpcError) as gone:
        wait_while_led(found, opened.run_id)
    assert gone.value.code() is grpc.StatusCode.NOT_FOUND
    again = found.run()
    with pytest.raises(grpc.RpcError) as refused:
        again.open(run_id=opened.run_id, resume=True)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_batch_without_a_stream_that_is_sent_again_is_not_executed_again(clients):
    _, client = clients
    batch = Batch(calls=[call("c0", "word_count", {"text": "one"})])
    request = ExecuteBatchRequest(open=Open(resume_grace=KEPT["resume_grace"]), batch_id="b1", batch=batch)
    first = client.call("ExecuteBatch", request)
    again = ExecuteBatchRequest(open=Open(run_id=first.run_id, resume=True), batch_id="b1", batch=batch)
    second = client.call("ExecuteBatch", again)
    told = [(result.executed, result.replayed, text(result)) for answer in (first, second) for result in answer.results]
    assert told == [(True, False, text(first.results[0])), (False, True, text(first.results[0]))]
