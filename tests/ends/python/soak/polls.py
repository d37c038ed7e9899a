"""What the booth says of its runs to whoever asks."""

import asyncio
import time
from typing import TYPE_CHECKING

import grpc
from toolbooth.v1.execution_pb2 import GetRunRequest, RunState
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub

if TYPE_CHECKING:
    from .host import Host

# A run that is over is gone as soon as the booth has seen that.
SOON = 20


async def state(control: ToolExecutionServiceStub, run_id: str) -> RunState | None:
    """The run as the booth holds it, if it does."""
    try:
        return (await control.GetRun(GetRunRequest(run_id=run_id))).run
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return None


async def is_gone(control: ToolExecutionServiceStub, run_id: str) -> bool:
    """Whether the run is over, soon."""
    until = time.monotonic() + SOON
    while await state(control, run_id):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.1)
    return True


async def poll(host: "Host", after: float) -> None:
    """Asks for the state of the run. What is known for certain must be said."""
    await asyncio.sleep(after)
    stream, delivery = host.stream, host.books.delivery
    polled = await state(host.control, host.run.id)
    host.counts["polls"] += 1
    is_ending = host.is_ending or stream.is_half_closed or stream.is_over
    is_led = host.stream is stream and not (is_ending or stream.is_disturbed or stream.is_reset)
    if not polled:
        host.books.check(not is_led, "the run is not there, and its stream is")
        return
    if polled.running_batch_id:
        host.books.check(polled.running_batch_id in host.books.batches, f"another batch runs: {polled}")
        batch = host.books.batches[polled.running_batch_id]
        host.books.check(polled.running_calls <= len(batch.calls), f"too many calls run: {polled}")
    if is_led:
        host.books.check(
            polled.is_led and not polled.HasField("waits"), f"the run is not led, and its stream is there: {polled}"
        )
    if is_led and delivery and host.books.delivery is delivery:
        going_on = (delivery.batch.id, "")
        host.books.check(polled.running_batch_id in going_on, f"{delivery.batch.id} goes on, and not: {polled}")
    if not polled.is_led:
        host.books.check(polled.waits.seconds <= host.run.grace, f"the run waits too long: {polled}")
