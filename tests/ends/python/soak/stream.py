"""The host's end of one `Run` stream, over a line of its own."""

import asyncio
import itertools
from contextlib import suppress
from pathlib import Path
from typing import Self

import grpc
from toolbooth.v1.execution_pb2 import Open, Opened, RunRequest, RunResponse
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub

from .line import Line

# Nothing of the soak takes so long by itself: a host that hears nothing for so long is stuck.
PATIENCE = 60


class Lost(Exception):
    """The stream is over. A client that writes to a stream while the booth ends it says INTERNAL, whatever the booth says."""

    def __init__(self, code: grpc.StatusCode, details: str):
        super().__init__(f"{code.name}: {details}")
        self.code = code


class Stream:
    _frame_ids = itertools.count(1)

    def __init__(self, line: Line):
        self.line = line
        self.opened = Opened()
        # What the host does to it.
        self.is_reset = self.is_half_closed = self.is_disturbed = self.is_over = False
        self._channel = grpc.aio.insecure_channel(f"unix://{line.path}")
        self._call = ToolExecutionServiceStub(self._channel).Run()
        self._said: asyncio.Queue[RunRequest | None] = asyncio.Queue()
        self._writing = asyncio.create_task(self._write())

    @classmethod
    async def over_new_line(cls, folder: Path, booth: Path) -> Self:
        return cls(await Line(folder, booth).open())

    async def _write(self) -> None:
        # What the booth does not hear any more, it is told over another stream.
        with suppress(grpc.RpcError, asyncio.InvalidStateError):
            while request := await self._said.get():
                await self._call.write(request)
            await self._call.done_writing()

    async def open(self, open: Open) -> Opened:
        self.say(open=open)
        frame = await self.read()
        if frame is None or not frame.HasField("opened"):
            raise AssertionError(f"the first frame is not `opened`: {frame}")
        self.opened = frame.opened
        return self.opened

    def say(self, **frame) -> int:
        """Says something, unless the stream is over; the id of the frame."""
        frame_id = next(self._frame_ids)
        if not self.is_half_closed:
            self._said.put_nowait(RunRequest(frame_id=frame_id, **frame))
        return frame_id

    async def read(self) -> RunResponse:
        """The next frame."""
        try:
            async with asyncio.timeout(PATIENCE):
                frame = await self._call.read()
        except grpc.aio.AioRpcError as error:
            self.is_over = True
            raise Lost(error.code(), error.details()) from error
        except asyncio.CancelledError:
            # Whoever ends the soak is not the one who reset the stream.
            if not self.is_reset or asyncio.current_task().cancelling():
                raise
            self.is_over = True
            raise Lost(grpc.StatusCode.CANCELLED, "reset by the host") from None
        except TimeoutError:
            raise AssertionError(f"nothing was heard for {PATIENCE} s") from None
        if frame is grpc.aio.EOF:
            self.is_over = True
            raise Lost(await self._call.code(), "the stream has ended")
        return frame

    def reset(self) -> None:
        self.is_reset = True
        self._call.cancel()

    def half_close(self) -> None:
        if not self.is_half_closed:
            self.is_half_closed = True
            self._said.put_nowait(None)

    async def close(self) -> None:
        """Lets it go, as a host that is gone."""
        self.is_over = True
        self.line.cut()
        self._writing.cancel()
        await self._channel.close()
