"""What runs when the booth is told to end: it is finished, and nothing new is begun."""

import asyncio
from pathlib import Path

import grpc
import pytest
from toolbooth.v1.execution_pb2 import REJECT_REASON_CLOSING, Batch, Open, RunResponse
from toolbooth.v1.types_pb2 import CallResult

from client import call, outcome, text

from .stream import Lost, Stream

# One call each of a host, of a program and of the booth itself.
TOOLS = ("ask", "line", "echo")


class Drained:
    """A run in the middle of a batch."""

    def __init__(self, number: int, stream: Stream):
        self._number, self._stream = number, stream
        self._asked: RunResponse | None = None
        self._results: list[CallResult] = []

    @classmethod
    async def begin(cls, number: int, folder: Path, booth: Path) -> "Drained":
        stream = await Stream.over_new_line(folder, booth)
        await stream.open(Open(run_id=f"drained {number}"))
        calls = [call(tool, tool, {"mark": f"drained {number} {tool}"}) for tool in TOOLS]
        stream.say(batch_id="b1", batch=Batch(calls=calls))
        run = cls(number, stream)
        while not run._asked:
            frame = await stream.read()
            if frame.HasField("execute"):
                run._asked = frame
            elif frame.HasField("call_finished"):
                run._results.append(frame.call_finished)
        return run

    async def finish(self) -> None:
        """Plays on, once the booth has said that it drains."""
        stream, frames = self._stream, []
        while not (frame := await stream.read()).HasField("draining"):
            frames.append(frame)
        refused = stream.say(batch_id="b2", batch=Batch())
        answer = outcome(f"drained {self._number} answered")
        stream.say(batch_id="b1", index=self._asked.index, tool_outcome=answer)
        with pytest.raises(Lost) as lost:
            await self._read_to_end(frames)
        assert lost.value.code is grpc.StatusCode.UNAVAILABLE
        rejected = [frame for frame in frames if frame.HasField("frame_rejected")]
        assert [(frame.reply_to, frame.frame_rejected.reason) for frame in rejected] == [(refused, REJECT_REASON_CLOSING)]
        results = self._results + [frame.call_finished for frame in frames if frame.HasField("call_finished")]
        by_id = {result.call_id: text(result) for result in results}
        assert len(results) == len(by_id) == len(TOOLS), f"drained with the results {results}"
        assert by_id["ask"] == f"drained {self._number} answered", by_id
        assert not any(result.is_error for result in results), results
        [finished] = [frame.batch_finished for frame in frames if frame.HasField("batch_finished")]
        assert list(finished.call_ids) == list(TOOLS), finished
        await stream.close()

    async def _read_to_end(self, frames: list[RunResponse]) -> None:
        while True:
            frames.append(await self._stream.read())


async def drain(count: int, folder: Path, booth: Path, terminate) -> None:
    """Tells the booth to end in the middle of so many batches."""
    runs = await asyncio.gather(*(Drained.begin(number, folder, booth) for number in range(count)))
    terminate()
    await asyncio.gather(*(run.finish() for run in runs))
