"""An asyncio host: the same call through the booth, an MCP server and a FastAPI server, in turns.

    host.py SOCKET TOOL ARGUMENTS ROUNDS

Prints one JSON object: for each way, the median time of each round in microseconds.
"""

import asyncio
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import aiohttp
import grpc
import mcp
from toolbooth.v1 import execution_pb2, execution_pb2_grpc, types_pb2

HERE = pathlib.Path(__file__).parent
CALLS_A_ROUND = 300
CALLS_A_BATCH = 8


class BoothRun:
    """One run over one stream; results come all together at the end of their batch."""

    def __init__(self, channel, tool, arguments):
        self.stream = execution_pb2_grpc.ToolExecutionServiceStub(channel).Run()
        self.tool = tool
        self.arguments = arguments

    async def open(self):
        opening = execution_pb2.Open(delivery=execution_pb2.DELIVERY_BATCH)
        await self.stream.write(execution_pb2.RunRequest(open=opening))
        opened = await self.stream.read()
        assert opened.WhichOneof("frame") == "opened", opened

    async def batch(self, calls):
        calls = [types_pb2.ToolCall(id=f"c{index}", name=self.tool, arguments=self.arguments) for index in range(calls)]
        await self.stream.write(execution_pb2.RunRequest(batch=execution_pb2.Batch(calls=calls)))
        results = []
        while True:
            response = await self.stream.read()
            kind = response.WhichOneof("frame")
            if kind == "batch_results":
                results.extend(response.batch_results.results)
            elif kind == "batch_finished":
                break
        assert [result.is_error for result in results] == [False] * len(calls), results


def mcp_client(arguments):
    server = mcp.StdioServerParameters(command=sys.executable, args=[str(HERE / "mcp_server.py")])
    client = mcp.Client(server)

    async def call():
        result = await client.call_tool("report_bug", json.loads(arguments))
        assert not result.is_error, result

    return client, call


def http_client(socket, arguments):
    session = aiohttp.ClientSession(connector=aiohttp.UnixConnector(socket), headers={"content-type": "application/json"})

    async def call():
        async with session.post("http://tools/report_bug", data=arguments) as response:
            assert response.status == 200, await response.text()
            await response.json()

    return session, call


async def answering(call):
    """Waits for a server that has just been started."""
    while True:
        try:
            return await call()
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(0.01)


async def median_time(call, count):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        await call()
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


async def measure(ways, rounds):
    medians = {name: [] for name in ways}
    for call, _ in ways.values():
        await median_time(call, CALLS_A_ROUND // 10)
    for _ in range(rounds):
        for name, (call, count) in ways.items():
            medians[name].append(await median_time(call, count))
    return medians


async def main(socket, tool, arguments, rounds):
    arguments = pathlib.Path(arguments).read_bytes().strip()
    with tempfile.TemporaryDirectory() as folder:
        http_socket = f"{folder}/http"
        uvicorn = [sys.executable, "-m", "uvicorn", "--app-dir", str(HERE), "http_server:app", "--uds", http_socket]
        http_server = subprocess.Popen([*uvicorn, "--no-access-log", "--log-level", "warning"])
        try:
            client, call_mcp = mcp_client(arguments)
            session, call_http = http_client(http_socket, arguments)
            async with grpc.aio.insecure_channel(f"unix://{socket}") as channel, client, session:
                run = BoothRun(channel, tool, arguments)
                await run.open()
                await answering(call_http)

                async def eight_messages():
                    for _ in range(CALLS_A_BATCH):
                        await run.batch(1)

                few = CALLS_A_ROUND // CALLS_A_BATCH
                ways = {
                    "booth": (lambda: run.batch(1), CALLS_A_ROUND),
                    "booth_batch_of_8": (lambda: run.batch(CALLS_A_BATCH), few),
                    "booth_8_messages": (eight_messages, few),
                    "mcp": (call_mcp, CALLS_A_ROUND),
                    "http": (call_http, CALLS_A_ROUND),
                }
                print(json.dumps(await measure(ways, rounds)))
        finally:
            http_server.terminate()
            http_server.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
