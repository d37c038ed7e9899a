"""An agent in a pod: it plays one run with the booth beside it, and ends when the booth's verdict says that it may."""

import asyncio
import json
import signal
import sys

import grpc
from toolbooth.v1 import execution_pb2 as wire
from toolbooth.v1 import types_pb2 as types
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub

# In place of a model, what one may say. The first call has a word where a number belongs: it is refused, and never runs.
RESPONSES = [
    ("add", '{"a": "nineteen", "b": 23}'),
    ("add", '{"a": 19, "b": 23}'),
    ("submit_sum", '{"sum": 42}'),
]

# The tools that this agent executes itself. Their arguments arrive validated.
TOOLS = {"add": lambda a, b: a + b}


def outcome(request):
    """Executes one call that the booth lets through."""
    execute = request.execute
    result = TOOLS[execute.tool](**json.loads(execute.arguments))
    print(f"executed {execute.tool}: {result}")
    answer = wire.ToolOutcome(call_id=execute.call_id, content=[types.Content(text=str(result))])
    return wire.RunRequest(batch_id=request.batch_id, index=request.index, tool_outcome=answer)


async def play_batch(run, calls):
    """Sends the calls of one response, and gives back the verdict on them."""
    await run.write(wire.RunRequest(batch=wire.Batch(calls=calls)))
    while (answer := await run.read()) != grpc.aio.EOF:
        match answer.WhichOneof("frame"):
            case "execute":
                await run.write(outcome(answer))
            case "call_finished":
                result = answer.call_finished
                print(f"{result.tool}: {'error' if result.is_error else 'ok'}: {result.content[0].text}")
            case "batch_finished":
                return answer.batch_finished.verdict
    sys.exit("agent: the booth has closed the run in the middle of a batch")


async def play(address):
    """Plays the run."""
    # Python as the first process of a container is deaf to SIGTERM until it is told what to do: then the pod waits until the
    # kubelet kills it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    async with grpc.aio.insecure_channel(address) as channel:
        run = ToolExecutionServiceStub(channel).Run()
        await run.write(wire.RunRequest(open=wire.Open(host="toolbooth-agent")))
        for number, (tool, arguments) in enumerate(RESPONSES):
            call = types.ToolCall(id=f"call_{number}", name=tool, arguments=arguments.encode())
            verdict = await play_batch(run, [call])
            if verdict.terminate:
                await run.done_writing()
                # The booth closes the stream in its turn.
                await run.read()
                print("the run has ended")
                return
    sys.exit("agent: the model has nothing more to say, and the booth has not let the run end")


try:
    asyncio.run(play(sys.argv[1]))
except asyncio.CancelledError:
    sys.exit(128 + signal.SIGTERM)
