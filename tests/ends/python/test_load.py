"""The booth under h2load, over the socket and over TCP, with a good client beside it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from toolbooth.v1.execution_pb2 import Batch, ExecuteBatchRequest

from abuse import LISTENERS, MOST_CONNECTIONS, GoodClient, attacked
from booth import PATIENCE
from client import SyncClient, call

pytestmark = pytest.mark.skipif(
    shutil.which("h2load") is None,
    reason="h2load is missing, so nothing was shown under load: install it (nghttp2-client on Debian)",
)

# What the pod grants: a load is work, and each call of it takes its memory.
MOST_MEMORY = 128 << 20
REQUEST = ExecuteBatchRequest(batch=Batch(calls=[call("c1", "echo", {"text": "load " * 20})]))


@dataclass
class Load:
    """What h2load says that it has seen."""

    succeeded: int
    failed: int
    data_bytes: int


def h2load(target: str, clients: int, streams: int, folder: Path) -> Load:
    """Posts the request 20,000 times, over so many connections and so many streams on each."""
    body = REQUEST.SerializeToString()
    (folder / "body").write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
    path = "/toolbooth.v1.ToolExecutionService/ExecuteBatch"
    if target.startswith("unix://"):
        where = ["-B", f"unix:{target.removeprefix('unix://')}", f"http://localhost{path}"]
    else:
        where = [f"http://{target}{path}"]
    run = ["h2load", "-n", "20000", "-c", str(clients), "-m", str(streams), "-d", str(folder / "body")]
    fields = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
    said = subprocess.run([*run, *fields, *where], capture_output=True, text=True, timeout=3 * PATIENCE, check=True).stdout
    [(succeeded, failed)] = re.findall(r"^requests: .* (\d+) succeeded, (\d+) failed,", said, re.MULTILINE)
    [data_bytes] = re.findall(r"^traffic: .*\((\d+)\) data$", said, re.MULTILINE)
    return Load(int(succeeded), int(failed), int(data_bytes))


def least_answer(target: str) -> int:
    """Bytes that every good answer has at least. A gRPC error has status 200 too, and no bytes."""
    client = SyncClient(target)
    answer = client.call("ExecuteBatch", REQUEST)
    client.close()
    answer.ClearField("run_id")
    answer.ClearField("batch_id")
    answer.results[0].ClearField("duration")
    assert not answer.results[0].is_error
    return answer.ByteSize()


@LISTENERS
def test_every_request_of_a_heavy_load_is_answered(listener, tmp_path):
    with attacked(most_memory=MOST_MEMORY) as booth, GoodClient(booth.targets[listener]):
        load = h2load(booth.targets[listener], 32, 50, tmp_path)
        assert (load.succeeded, load.failed) == (20_000, 0)
        assert load.data_bytes > 20_000 * least_answer(booth.targets[listener])


@LISTENERS
def test_a_load_over_more_connections_than_the_cap_is_served_up_to_it(listener, tmp_path):
    with attacked(most_memory=MOST_MEMORY) as booth, GoodClient(booth.targets[listener]):
        load = h2load(booth.targets[listener], 200, 10, tmp_path)
        # Each connection has its equal part; those over the cap lose theirs. A place that is free again may be taken.
        assert load.succeeded >= 100 * (MOST_CONNECTIONS - 1)
        assert load.failed >= 100
