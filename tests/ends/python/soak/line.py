"""A line between a host and the booth that can be slow, stalled, half open and cut."""

import asyncio
import itertools
from contextlib import suppress
from pathlib import Path
from typing import Self

# The two ways that bytes go.
UP, DOWN = "up", "down"
WAYS = (UP, DOWN)


class Line:
    """A Unix socket whose connections go on to the booth's."""

    _names = itertools.count()

    def __init__(self, folder: Path, booth: Path):
        self.path = folder / f"line-{next(self._names)}"
        self.delay = 0.0
        self._booth = booth
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._flows = {way: asyncio.Event() for way in WAYS}
        for flows in self._flows.values():
            flows.set()
        self._ends: list[asyncio.StreamWriter] = []
        self._pumps: set[asyncio.Task] = set()
        self._far: dict[str, list[asyncio.StreamWriter]] = {way: [] for way in WAYS}

    async def open(self) -> Self:
        self._server = await asyncio.start_unix_server(self._connected, self.path)
        return self

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.append(writer)
        try:
            booth_reader, booth_writer = await asyncio.open_unix_connection(self._booth)
        except OSError:
            return writer.transport.abort()
        if self._is_cut:
            booth_writer.transport.abort()
            return writer.transport.abort()
        self._ends.append(booth_writer)
        self._far[UP].append(booth_writer)
        self._far[DOWN].append(writer)
        for way, source, sink in ((UP, reader, booth_writer), (DOWN, booth_reader, writer)):
            pump = asyncio.create_task(self._pump(way, source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, way: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        # Nothing is written any more to an end that was told of the other's end.
        with suppress(OSError, RuntimeError):
            while data := await source.read(1 << 16):
                await self._flows[way].wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                sink.write(data)
                await sink.drain()
        sink.close()

    def stall(self, ways: list[str]) -> None:
        """Nothing goes these ways any more, and nobody is told."""
        for way in ways:
            self._flows[way].clear()

    def flow(self) -> None:
        for flows in self._flows.values():
            flows.set()

    def half_close(self, way: str) -> None:
        """One end hears that the other has closed its side, and nothing else."""
        for writer in self._far[way]:
            with suppress(OSError):
                writer.write_eof()

    def cut(self) -> None:
        """Both ends lose their connection at once."""
        self._is_cut = True
        if self._server:
            self._server.close()
        for pump in self._pumps:
            pump.cancel()
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()
        self.path.unlink(missing_ok=True)
