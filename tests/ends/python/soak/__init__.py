"""A soak: many runs at once over lines that are stalled and cut, with books on what every call must have come to."""

import asyncio
from collections.abc import Iterator

from .soak import Soak


def play(seed: str, seconds: float, runs: int, state: bool = False) -> str:
    """Plays a soak; a table of what has happened. `state`: the booth keeps its state in files."""
    soak = Soak(seed, seconds, runs, state)
    try:
        return asyncio.run(soak.play())
    except Exception as failure:
        whys = "\n".join(f"{type(why).__name__}: {why}" for why in causes(failure))
        raise AssertionError(f"seed {seed}: {whys}\nthe booth has logged:\n{soak.booth.log()}") from failure
    finally:
        soak.close()


def causes(failure: Exception) -> Iterator[Exception]:
    """What has failed, one by one."""
    if isinstance(failure, ExceptionGroup):
        for part in failure.exceptions:
            yield from causes(part)
    else:
        yield failure
