"""How a batch goes out: whole, or in pieces."""

import asyncio
from random import Random
from typing import TYPE_CHECKING

from toolbooth.v1.execution_pb2 import (
    REJECT_REASON_BATCH_ID_REUSED,
    REJECT_REASON_UNKNOWN_BATCH,
    ArgumentsDelta,
    BatchEnd,
    BatchStart,
    CallEnd,
    CallStart,
)
from toolbooth.v1.types_pb2 import Finish

from .books import Delivery
from .plan import MANNERS, PlannedBatch, pick

if TYPE_CHECKING:
    from .host import Host


def send(host: "Host", batch: PlannedBatch, turn: int) -> None:
    """Sends a batch, for the first time or again; a batch in pieces goes on going out beside."""
    dice = Random(f"{host.run.seed}/{host.run.id}/{batch.id} sent {turn}")
    manner = pick(dice, MANNERS)
    host.counts[f"batches sent {manner}"] += 1
    reasons = (REJECT_REASON_BATCH_ID_REUSED,) if host.books.may_be_forgotten(batch) else ()
    if manner == "whole":
        host.books.sent(batch, host.say(reasons, batch_id=batch.id, batch=batch.frame()), is_whole=True)
        return
    start = BatchStart(mode=batch.mode, eager=manner == "eager")
    delivery = host.books.sent(batch, host.say(reasons, batch_id=batch.id, batch_start=start), is_whole=False)
    host.spawn(_pieces(host, delivery, dice))


async def _pieces(host: "Host", delivery: Delivery, dice: Random) -> None:
    """The rest of it, as long as it is what goes on. What comes after a cancel is of no batch."""
    stream, batch = host.stream, delivery.batch
    pace = dice.choice([0, 0, 0.01])

    def say(index: int | None = None, **frame) -> None:
        if host.stream is stream and host.books.delivery is delivery:
            host.say((REJECT_REASON_UNKNOWN_BATCH, REJECT_REASON_BATCH_ID_REUSED), batch_id=batch.id, index=index, **frame)

    for index, planned in enumerate(batch.calls):
        call = planned.call
        say(index, call_start=CallStart(id=call.id, name=call.name, idempotency_key=call.idempotency_key))
        middle = dice.randint(0, len(call.arguments))
        for data in (call.arguments[:middle], call.arguments[middle:]):
            say(dice.choice([index, None]), arguments_delta=ArgumentsDelta(data=data))
            await asyncio.sleep(dice.uniform(0, pace))
        say(index, call_end=CallEnd())
    say(batch_end=BatchEnd(finish=Finish(raw=batch.finish)))
    delivery.is_whole = not delivery.is_cut and not stream.is_half_closed
