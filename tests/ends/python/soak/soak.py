"""The soak from its first run to the end of the booth."""

import asyncio
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import grpc
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub

from booth import Booth

from . import plan
from .books import Books
from .drain import drain
from .host import Host
from .ledger import Ledger, twice
from .memory import Memory
from .polls import is_gone

CONTRACTS = Path(__file__).parent / "contracts.yaml"
TOOLS = 12
# Lines of all runs, those of runs that are taken over, and those that the booth has not seen the end of.
CONNECTIONS = "{max_connections: 1000}"


class Soak:
    def __init__(self, seed: str, seconds: float, runs: int, state: bool):
        self.seed, self.seconds, self.runs = seed, seconds, runs
        self.books, self.memory = Books(), Memory()
        self._folder = Path(tempfile.mkdtemp(prefix="toolbooth-soak-"))
        self._lines = self._folder / "lines"
        self._lines.touch()
        contracts = self._folder / "contracts.yaml"
        contracts.write_text(CONTRACTS.read_text().replace("LINES_PATH", str(self._lines)))
        self._contracts, self._state = contracts, state
        self.booth = self._booth()
        self._left: list[tuple[str, float]] = []

    def _booth(self) -> Booth:
        state = ["--state", self._folder / "state"] if self._state else []
        return Booth(CONNECTIONS, [self._contracts], TOOLS, ["--log-level", "warn", *state])

    async def play(self) -> str:
        """Plays, checks, and says in lines what has happened."""
        target = self.booth.targets["socket"]
        async with grpc.aio.insecure_channel(target) as channel:
            self._control = ToolExecutionServiceStub(channel)
            ledger = Ledger(channel)
            async with asyncio.TaskGroup() as group:
                beside = [group.create_task(ledger.watch())]
                beside.append(group.create_task(self.memory.watch(self.booth, self._kept)))
                until = time.monotonic() + self.seconds
                slots = [group.create_task(self._slot(number, until)) for number in range(self.runs)]
                await asyncio.wait(slots)
                for run, gone_at in self._left:
                    await asyncio.sleep(gone_at - time.monotonic())
                    assert await is_gone(self._control, run), f"{run} was left behind, and is still there"
                submissions = await ledger.check(self.books)
                for task in beside:
                    task.cancel()
            await drain(self.runs, self._folder, self.booth.socket, self.booth.terminate)
        self.booth.see_end()
        if self._state:
            await self._check_state(submissions)
        lines = self._check_lines()
        return self._table(submissions, lines)

    def _kept(self) -> int:
        return 0 if self._state else len(self.books.accepted)

    async def _check_state(self, submissions: int) -> None:
        """Another booth with the same state knows all of it."""
        self.booth = self._booth()
        async with grpc.aio.insecure_channel(self.booth.targets["socket"]) as channel:
            ledger = Ledger(channel)
            watching = asyncio.create_task(ledger.watch())
            assert await ledger.check(self.books) == submissions
            watching.cancel()
        await asyncio.to_thread(self.booth.stop)

    def close(self) -> None:
        """Lets everything go, whatever has happened."""
        self.booth.kill()
        shutil.rmtree(self._folder)

    async def _slot(self, number: int, until: float) -> None:
        """Plays run after run."""
        turn = 0
        while time.monotonic() < until:
            run = plan.run(self.seed, number, turn)
            await Host(self.books, run, self._folder, self.booth.socket, self._control).play()
            self._left.append((run.id, time.monotonic() + run.grace + 1))
            turn += 1

    def _check_lines(self) -> int:
        """No program ran twice for a call or a key, and none that was not to run."""
        pairs = [line.split("|") for line in self._lines.read_text().splitlines()]
        marks = [mark for _, mark in pairs]
        # Of `pin`, the mark begins with what is accepted once.
        pinned = [mark.rpartition("/")[0] for mark in marks if "/pin/" in mark]
        for kind, values in (("key", [key for key, _ in pairs]), ("mark", marks), ("pinned key", pinned)):
            assert not twice(values), f"programs ran twice for the {kind} {twice(values)}"
        keys = {mark: key for key, mark in pairs}
        for mark, key in self.books.ran.items():
            assert keys.get(mark) == key, f"a program answered for {mark} under {key}, and its line says {keys.get(mark)}"
        wrongly = self.books.never_ran & set(marks)
        assert not wrongly, f"programs ran for calls that were not executed: {wrongly}"
        return len(pairs)

    def _table(self, submissions: int, lines: int) -> str:
        counts = self.books.counts | Counter({"submissions": submissions, "lines of programs": lines})
        rows = [f"  {kind:45} {count:>9,}" for kind, count in sorted(counts.items())]
        codes = [f"  result {code.lower():38} {count:>9,}" for code, count in self.books.codes.most_common()]
        return "\n".join([f"seed {self.seed}, {self.runs} runs at once, {self.seconds} s", *rows, *codes, self.memory.judge()])
