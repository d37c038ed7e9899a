"""Plays a run with the tool `add` of examples/contracts: python run.py unix:///run/toolbooth/booth.sock"""

import asyncio
import json
import sys

import grpc
from toolbooth.v1.execution_pb2 import Batch, Open, RunRequest, ToolOutcome
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub
from toolbooth.v1.types_pb2 import Content, ToolCall

# What a model says: a call that breaks the contract and, once it has read the error, a call that satisfies it.
TURNS = [b'{"a": "one", "b": 2}', b'{"a": 1, "b": 2}']


async def main():
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        run = ToolExecutionServiceStub(channel).Run()
        await run.write(RunRequest(open=Open()))
        for turn in TURNS:
            await run.write(RunRequest(batch=Batch(calls=[ToolCall(name="add", arguments=turn)])))
            while not (frame := await run.read()).HasField("batch_finished"):
                if frame.HasField("execute"):
                    arguments = json.loads(frame.execute.arguments)
                    outcome = ToolOutcome(content=[Content(text=str(arguments["a"] + arguments["b"]))])
                    await run.write(RunRequest(index=frame.index, tool_outcome=outcome))
                elif frame.HasField("call_finished"):
                    print(frame.call_finished.content[0].text)
        await run.done_writing()


asyncio.run(main())
