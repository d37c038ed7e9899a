"""How much memory the booth takes, second by second."""

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from booth import Booth

# What the last quarter of the soak may take more than the second one: the first one warms up.
MOST_GROWTH = 1.1
# Pages of an allocator that are there or not.
SLACK = 8 << 20
# A booth without a store keeps what was executed once in memory, for good.
KEPT_BYTES = 3 << 10


@dataclass
class Memory:
    samples: list[int] = field(default_factory=list)
    # How many submissions the booth kept in memory, at the time.
    kept: list[int] = field(default_factory=list)

    async def watch(self, booth: Booth, kept: Callable[[], int]) -> None:
        while True:
            self.samples.append(booth.memory())
            self.kept.append(kept())
            await asyncio.sleep(1)

    def quarter(self, number: int) -> list[int]:
        size = len(self.samples) // 4
        return self.samples[number * size : (number + 1) * size]

    def judge(self) -> str:
        """What became of it, in a line. It must be flat."""
        early, late = statistics.median(self.quarter(1)), statistics.median(self.quarter(3))
        size = len(self.samples) // 4
        grown = KEPT_BYTES * (self.kept[7 * size // 2] - self.kept[3 * size // 2])
        most = early * MOST_GROWTH + SLACK + grown
        said = (
            f"{mib(early)} in the second quarter, {mib(late)} in the last, at most {mib(max(self.samples))}; bound {mib(most)}"
        )
        assert late <= most, f"memory is not flat: {said}"
        return said


def mib(count: float) -> str:
    return f"{count / (1 << 20):.1f} MiB"
