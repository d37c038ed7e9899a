"""Plain clients with default options, asyncio and sync, with one face: a conversation is written once and played by both."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import grpc
from google.protobuf.message import Message
from toolbooth.v1.execution_pb2 import (
    Batch,
    BatchFinished,
    Execute,
    Open,
    Opened,
    RunRequest,
    RunResponse,
    ToolOutcome,
)
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub
from toolbooth.v1.types_pb2 import CallResult, Content, ToolCall, Verdict

from booth import PATIENCE


@dataclass
class Played:
    """What a batch brought."""

    executed: list[Execute] = field(default_factory=list)
    results: list[CallResult] = field(default_factory=list)
    finished: BatchFinished = field(default_factory=BatchFinished)

    @property
    def verdict(self) -> Verdict:
        return self.finished.verdict

    def result(self, call_id: str) -> CallResult:
        [result] = [result for result in self.results if result.call_id == call_id]
        return result


class Run(ABC):
    """The host's end of a `Run` stream."""

    @abstractmethod
    def write(self, request: RunRequest) -> None:
        """Says something."""

    @abstractmethod
    def read(self) -> RunResponse | None:
        """The next frame; `None` at the end of the stream."""

    @abstractmethod
    def half_close(self) -> None:
        """Says that nothing more will be said."""

    @abstractmethod
    def code(self) -> grpc.StatusCode:
        """The status that the stream ended with."""

    def say(self, **frame) -> None:
        self.write(RunRequest(**frame))

    def hear(self, kind: str) -> RunResponse:
        """The next frame, which must be of this kind."""
        frame = self.read()
        assert frame is not None, f"the stream ended before {kind}"
        assert frame.WhichOneof("frame") == kind, frame
        return frame

    def open(self, **options) -> Opened:
        self.say(open=Open(**options))
        return self.hear("opened").opened

    def asked(self, count: int) -> list[RunResponse]:
        """The next so many frames that ask the host to execute a call."""
        asked = []
        while len(asked) < count:
            frame = self.read()
            assert frame is not None, "the stream ended before the host was asked"
            if frame.HasField("execute"):
                asked.append(frame)
        return asked

    def play(self, calls: list[ToolCall], tools: dict[str, Callable[..., str]] | None = None, batch_id: str = "") -> Played:
        """Plays a batch to its end. `tools` are the host's own functions."""
        self.say(batch_id=batch_id, batch=Batch(calls=calls))
        return self.rest(tools)

    def rest(self, tools: dict[str, Callable[..., str]] | None = None) -> Played:
        """Plays what is left of the batch."""
        played = Played()
        while frame := self.read():
            match frame.WhichOneof("frame"):
                case "execute":
                    played.executed.append(frame.execute)
                    text = tools[frame.execute.tool](**json.loads(frame.execute.arguments))
                    self.say(batch_id=frame.batch_id, index=frame.index, tool_outcome=outcome(text))
                case "call_finished":
                    played.results.append(frame.call_finished)
                case "batch_results":
                    played.results.extend(frame.batch_results.results)
                case "batch_finished":
                    played.finished = frame.batch_finished
                    return played
        raise AssertionError("the stream ended before the batch")

    def end(self) -> None:
        """Half-closes, and sees the booth close the stream cleanly."""
        self.half_close()
        assert self.read() is None
        assert self.code() is grpc.StatusCode.OK


class SyncRun(Run):
    def __init__(self, stub: ToolExecutionServiceStub):
        self._requests = SimpleQueue()
        self._call = stub.Run(iter(self._requests.get, None), timeout=PATIENCE)

    def write(self, request: RunRequest) -> None:
        self._requests.put(request)

    def read(self) -> RunResponse | None:
        return next(self._call, None)

    def half_close(self) -> None:
        self._requests.put(None)

    def code(self) -> grpc.StatusCode:
        return self._call.code()


class SyncClient:
    def __init__(self, target: str):
        self._channel = grpc.insecure_channel(target)
        self._stub = ToolExecutionServiceStub(self._channel)

    def run(self) -> Run:
        return SyncRun(self._stub)

    def call(self, method: str, request: Message) -> Message:
        return getattr(self._stub, method)(request, timeout=PATIENCE)

    def close(self) -> None:
        self._channel.close()


class AioRun(Run):
    def __init__(self, stub: ToolExecutionServiceStub, wait: Callable):
        async def start():
            return stub.Run(timeout=PATIENCE)

        self._wait = wait
        self._call = wait(start())

    def write(self, request: RunRequest) -> None:
        self._wait(self._call.write(request))

    def read(self) -> RunResponse | None:
        frame = self._wait(self._call.read())
        return None if frame is grpc.aio.EOF else frame

    def half_close(self) -> None:
        self._wait(self._call.done_writing())

    def code(self) -> grpc.StatusCode:
        return self._wait(self._call.code())


class AioClient:
    def __init__(self, target: str):
        async def connect():
            channel = grpc.aio.insecure_channel(target)
            return channel, ToolExecutionServiceStub(channel)

        # The loop runs whenever the test waits for something.
        self._loop = asyncio.Runner()
        self._channel, self._stub = self._wait(connect())

    def _wait(self, awaitable):
        async def result():
            return await awaitable

        return self._loop.run(result())

    def run(self) -> Run:
        return AioRun(self._stub, self._wait)

    def call(self, method: str, request: Message) -> Message:
        async def answer():
            return await getattr(self._stub, method)(request, timeout=PATIENCE)

        return self._wait(answer())

    def close(self) -> None:
        self._wait(self._channel.close())
        self._loop.close()


Client = AioClient | SyncClient
CLIENTS = {"asyncio": AioClient, "sync": SyncClient}


def call(call_id: str, name: str, arguments: str | dict) -> ToolCall:
    """A call as the model made it: a `dict` stands for its compact JSON."""
    sent = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id=call_id, name=name, arguments=sent.encode())


def outcome(text: str) -> ToolOutcome:
    return ToolOutcome(content=[Content(text=text)])


def text(result: CallResult) -> str:
    """All that the model reads."""
    return "".join(content.text for content in result.content)
