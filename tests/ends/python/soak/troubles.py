"""What happens to a run while a batch of it goes on."""

import asyncio
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from toolbooth.v1.execution_pb2 import (
    REJECT_REASON_ALREADY_OPEN,
    REJECT_REASON_BATCH_IN_PROGRESS,
    REJECT_REASON_CLOSING,
    REJECT_REASON_MALFORMED,
    REJECT_REASON_UNIMPLEMENTED,
    REJECT_REASON_UNKNOWN_BATCH,
    REJECT_REASON_UNKNOWN_CALL,
    ArgumentsDelta,
    Batch,
    Cancel,
    Open,
)

from .executions import answer
from .line import WAYS
from .plan import PlannedBatch, Trouble
from .stream import Lost, Stream

if TYPE_CHECKING:
    from .host import Host


async def befall(host: "Host", batch: PlannedBatch, trouble: Trouble) -> None:
    """Lets the trouble come in its time."""
    await asyncio.sleep(trouble.after)
    stream = host.stream
    if stream.is_over:
        return
    host.books.note(f"trouble: {trouble.kind}")
    host.counts[f"trouble: {trouble.kind}"] += 1
    match trouble.kind:
        case "cut" | "half-open line" | "stall" | "stall and cut" | "delay":
            await _of_line(stream, trouble.kind, trouble.dice)
        case "reset":
            stream.reset()
        case "takeover":
            await _take_over(host, trouble.dice)
        case "half-close":
            host.has_half_closed = True
            stream.half_close()
        case "unusable frame":
            _say_unusable(host, trouble.dice)
        case "sent again":
            _send_again(host)
        case _:
            _cancel(host, batch, trouble)


async def _of_line(stream: Stream, kind: str, dice: Random) -> None:
    ways = dice.choice([[way] for way in WAYS] + [list(WAYS)])
    match kind:
        case "delay":
            stream.line.delay = dice.uniform(0.005, 0.03)
            return
        case "stall":
            stream.line.stall(ways)
            await asyncio.sleep(dice.uniform(0.1, 1.5))
            stream.line.flow()
            return
        case "stall and cut":
            stream.line.stall(ways)
            await asyncio.sleep(dice.uniform(0.1, 1))
        case "half-open line":
            stream.is_disturbed = True
            stream.line.half_close(dice.choice(WAYS))
            await asyncio.sleep(0.5)
    stream.is_disturbed = True
    stream.line.cut()


async def _take_over(host: "Host", dice: Random) -> None:
    """A second stream leads the run, while the first still lives."""
    async with host.resuming:
        if host.run.grace == 0 or host.taken_over:
            return
        host.is_taking_over = True
        with suppress(Lost):
            host.taken_over = await host.resumed(dice)


def _say_unusable(host: "Host", dice: Random) -> None:
    frames = [
        ((REJECT_REASON_UNIMPLEMENTED,), {}),
        ((REJECT_REASON_ALREADY_OPEN,), {"open": Open(run_id="another")}),
        ((REJECT_REASON_UNKNOWN_BATCH,), {"batch_id": "nobody's", "arguments_delta": ArgumentsDelta(data=b"{")}),
        ((REJECT_REASON_UNKNOWN_BATCH,), {"batch_id": "nobody's", "cancel": Cancel()}),
        ((REJECT_REASON_UNKNOWN_CALL,), {"batch_id": "nobody's", "index": 0, "tool_outcome": answer("unasked")}),
        (
            (REJECT_REASON_BATCH_IN_PROGRESS, REJECT_REASON_MALFORMED, REJECT_REASON_CLOSING),
            {"batch_id": "x" * 300, "batch": Batch()},
        ),
    ]
    reasons, frame = dice.choice(frames)
    host.say(reasons, **frame)


def _send_again(host: "Host") -> None:
    """The batch once more, while it runs, or just after: its host cannot tell which, and asks over another stream."""
    delivery = host.books.delivery
    if host.run.grace and delivery and delivery.is_whole:
        host.must_come_back = True
        # Of one that came in pieces, the booth may still have some to take.
        reasons = (REJECT_REASON_BATCH_IN_PROGRESS,) if host.books.came_in_pieces(delivery.batch) else ()
        host.say(reasons, batch_id=delivery.batch.id, batch=delivery.batch.frame())


def _cancel(host: "Host", batch: PlannedBatch, trouble: Trouble) -> None:
    if host.books.delivery:
        host.books.delivery.is_cut = True
    place = {}
    if trouble.kind != "cancel run":
        place["batch_id"] = batch.id
    if trouble.kind == "cancel call":
        place["index"] = trouble.dice.randrange(len(batch.calls) + 1)
    host.is_ending |= trouble.kind == "cancel run"
    host.say((REJECT_REASON_UNKNOWN_BATCH, REJECT_REASON_UNKNOWN_CALL), **place, cancel=Cancel(reason=trouble.kind))
