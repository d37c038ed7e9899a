"""What stands beside the `Run` stream: its unary twins, health and reflection, and the examples as they are."""

import asyncio
import json
import os
import subprocess
import sys

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from toolbooth.v1.execution_pb2 import (
    Batch,
    ConcludeBatchRequest,
    ConcludedCall,
    ExecuteBatchRequest,
    Open,
    RunRequest,
    ValidateRequest,
)
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub
from toolbooth.v1.types_pb2 import (
    ERROR_CODE_EXECUTION_FAILED,
    ERROR_CODE_INVALID_ARGUMENTS,
    VERDICT_REASON_ALL_TERMINATE,
    VERDICT_REASON_NOT_ALL,
    VERDICT_REASON_TRUNCATED,
    Finish,
)

from booth import PATIENCE, REPOSITORY
from client import Client, call, outcome, text

SERVICE = "toolbooth.v1.ToolExecutionService"


def test_a_batch_without_a_stream_is_executed(client: Client):
    calls = [
        call("c0", "word_count", {"text": "one two three"}),
        call("c1", "echo", {"text": [1, 2]}),
        call("c2", "add", {"a": 1, "b": 2}),
    ]
    request = ExecuteBatchRequest(open=Open(run_id="unary"), batch_id="b1", batch=Batch(calls=calls))
    answer = client.call("ExecuteBatch", request)
    assert (answer.run_id, answer.batch_id) == ("unary", "b1")
    assert [(result.index, result.call_id) for result in answer.results] == [(0, "c0"), (1, "c1"), (2, "c2")]
    counted, refused, hostless = answer.results
    # `wc` says how many lines, words and bytes it has read.
    assert (counted.executed, [number.isdigit() for number in text(counted).split()]) == (True, [True] * 3)
    assert (refused.error.code, refused.executed) == (ERROR_CODE_INVALID_ARGUMENTS, False)
    assert (hostless.error.code, hostless.is_error) == (ERROR_CODE_EXECUTION_FAILED, True)
    assert (answer.verdict.reason, list(answer.verdict.blocking)) == (VERDICT_REASON_NOT_ALL, [0, 1, 2])


def test_calls_are_validated_and_not_executed(client: Client):
    calls = [
        call("c0", "read_file", {"filePath": "a.txt"}),
        call("c1", "add", {"a": 1, "b": "two"}),
        call("c2", "functions.add", {"a": 1, "b": "2"}),
    ]
    good, bad, converted = client.call("Validate", ValidateRequest(calls=calls)).validations
    assert (good.index, good.valid, good.arguments) == (0, True, b'{"path":"a.txt"}')
    assert [repair.op for repair in good.repairs] == ["rename_key"]
    assert (bad.call_id, bad.valid, bad.arguments) == ("c1", False, b"")
    [violation] = bad.error.violations
    assert (violation.instance_path, violation.keyword, violation.actual_kind) == ("/b", "type", "string")
    assert (converted.valid, converted.arguments) == (True, b'{"a":1,"b":2}')
    repairs = [(repair.target, repair.path, repair.op) for repair in converted.repairs]
    assert repairs == [("name", "", "strip_prefix"), ("arguments", "/b", "string_to_number")]


@pytest.mark.parametrize(
    ("says", "finish", "reason"),
    [
        ([True, True], "stop", VERDICT_REASON_ALL_TERMINATE),
        ([True, False], "stop", VERDICT_REASON_NOT_ALL),
        ([True, True], "max_tokens", VERDICT_REASON_TRUNCATED),
    ],
)
def test_a_host_that_executes_by_itself_gets_the_verdict(client: Client, says, finish, reason):
    calls = [ConcludedCall(terminate=terminate) for terminate in says]
    verdict = client.call("ConcludeBatch", ConcludeBatchRequest(calls=calls, finish=Finish(raw=finish))).verdict
    assert (verdict.reason, verdict.terminate) == (reason, reason == VERDICT_REASON_ALL_TERMINATE)


def test_many_runs_share_one_connection_and_do_not_mix(target: str):
    async def play(stub: ToolExecutionServiceStub, number: int) -> str:
        run = stub.Run(timeout=PATIENCE)
        await run.write(RunRequest(open=Open(run_id=f"run {number} to {target}")))
        await run.write(RunRequest(batch=Batch(calls=[call("c1", "add", {"a": number, "b": 1000})])))
        said = ""
        while not (frame := await run.read()).HasField("batch_finished"):
            if frame.HasField("execute"):
                arguments = json.loads(frame.execute.arguments)
                answer = outcome(str(arguments["a"] + arguments["b"]))
                await run.write(RunRequest(index=0, tool_outcome=answer))
            elif frame.HasField("call_finished"):
                said = text(frame.call_finished)
        await run.done_writing()
        assert await run.read() is grpc.aio.EOF
        return said

    async def play_all() -> list[str]:
        async with grpc.aio.insecure_channel(target) as channel:
            stub = ToolExecutionServiceStub(channel)
            return await asyncio.gather(*(play(stub, number) for number in range(90)))

    assert asyncio.run(play_all()) == [str(1000 + number) for number in range(90)]


@pytest.mark.parametrize("service", ["", SERVICE])
def test_health_is_told_to_plain_clients(target: str, service: str):
    with grpc.insecure_channel(target) as channel:
        answer = HealthStub(channel).Check(HealthCheckRequest(service=service), timeout=PATIENCE)
    assert answer.status == HealthCheckResponse.SERVING


def test_health_of_a_service_that_is_not_there_is_not_found(target: str):
    with grpc.insecure_channel(target) as channel, pytest.raises(grpc.RpcError) as refused:
        HealthStub(channel).Check(HealthCheckRequest(service="nowhere"), timeout=PATIENCE)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_describes_the_services(target: str):
    with grpc.insecure_channel(target) as channel:
        reflection = ProtoReflectionDescriptorDatabase(channel)
        assert {SERVICE, "toolbooth.v1.ToolCatalogService", "grpc.health.v1.Health"} <= set(reflection.get_services())
        service = DescriptorPool(reflection).FindServiceByName(SERVICE)
    assert [method.name for method in service.methods] == ["Run", "ExecuteBatch", "Validate", "GetRun", "ConcludeBatch"]


def test_the_example_plays_a_run_as_it_stands(target: str):
    generated = str(REPOSITORY / "tests" / "ends" / "python" / "generated")
    played = subprocess.run(
        [sys.executable, REPOSITORY / "examples" / "python" / "run.py", target],
        env=os.environ | {"PYTHONPATH": generated},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (played.returncode, played.stderr) == (0, "")
    lines = played.stdout.splitlines()
    assert lines[:2] == ['Validation failed for tool "add":', "  - a: expected number, got string"]
    assert lines[-1] == "3"
