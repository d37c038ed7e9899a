"""An agent in a pod: it plays one run with the booth beside it, and ends when the booth's verdict says that it may."""

import json
import queue
import signal
import sys

import grpc
from toolbooth.v1 import execution_pb2 as wire
from toolbooth.v1 import types_pb2 as types
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub

# In place of a model, what one may say. The first call has a text where a number belongs: it is refused, and never runs.
RESPONSES = [
    ("add", '{"a": "19", "b": 23}'),
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


def play(address):
    """Plays the run, and says whether the verdict ended it."""
    frames = queue.SimpleQueue()
    with grpc.insecure_channel(address) as channel:
        answers = ToolExecutionServiceStub(channel).Run(iter(frames.get, None))
        frames.put(wire.RunRequest(open=wire.Open(host="toolbooth-agent")))
        for number, (tool, arguments) in enumerate(RESPONSES):
            call = types.ToolCall(id=f"call_{number}", name=tool, arguments=arguments.encode())
            frames.put(wire.RunRequest(batch=wire.Batch(calls=[call])))
            for answer in answers:
                kind = answer.WhichOneof("frame")
                if kind == "execute":
                    frames.put(outcome(answer))
                elif kind == "call_finished":
                    result = answer.call_finished
                    print(f"{tool}: {'error' if result.is_error else 'ok'}: {result.content[0].text}")
                elif kind == "batch_finished":
                    if answer.batch_finished.verdict.terminate:
                        frames.put(None)
                        # Nothing more is asked of the booth: it closes the stream, too.
                        next(answers, None)
                        return True
                    break
    return False


# The first process of a container that sets no handler is deaf to SIGTERM, and holds up the whole pod until it is killed.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
if not play(sys.argv[1]):
    sys.exit("agent: the model has nothing more to say, and the booth has not let the run end")
print("the run has ended")
