"""What the host does when it is asked to execute a call: never twice, and not always well."""

import asyncio
from typing import TYPE_CHECKING

from toolbooth.v1.execution_pb2 import REJECT_REASON_UNKNOWN_CALL, RunResponse, ToolOutcome, ToolProgress
from toolbooth.v1.types_pb2 import Content

from .books import own_name
from .plan import Planned

if TYPE_CHECKING:
    from .host import Host

NO_SUCH_CALL = (REJECT_REASON_UNKNOWN_CALL,)


class Executions:
    def __init__(self, host: "Host"):
        self._host = host
        # By batch, index and attempt; without an outcome while it goes on.
        self._begun: dict[tuple[str, int, int], ToolOutcome | None] = {}

    def begin(self, frame: RunResponse, planned: Planned) -> None:
        """The host is asked to execute a call. What it has begun it does not begin again."""
        place = (frame.batch_id, frame.index, frame.execute.attempt)
        if place not in self._begun:
            self._begun[place] = None
            self._host.spawn(self._execute(place, frame, planned))
        elif outcome := self._begun[place]:
            self._answer(place, outcome)

    def _answer(self, place: tuple[str, int, int], outcome: ToolOutcome) -> None:
        # A half-close answers what is open, and forgets it.
        reasons = NO_SUCH_CALL if self._host.has_half_closed else ()
        self._host.say(reasons, batch_id=place[0], index=place[1], tool_outcome=outcome)

    async def _execute(self, place: tuple[str, int, int], frame: RunResponse, planned: Planned) -> None:
        batch_id, index, attempt = place
        behaviour = planned.behaviour
        self._host.counts[f"host: {behaviour}"] += 1
        if behaviour == "never" and attempt == 1:
            return
        if behaviour == "other id":
            outcome = answer("the outcome of another call", call_id="nobody")
            self._host.say(NO_SUCH_CALL, batch_id=batch_id, index=index, tool_outcome=outcome)
        if behaviour == "other place":
            self._host.say(NO_SUCH_CALL, batch_id=batch_id, index=index + 4000, tool_outcome=answer("of another place"))
        if behaviour == "progress":
            for step in range(1, 4):
                await asyncio.sleep(planned.pause)
                progress = ToolProgress(progress=step, total=4, message="going on")
                self._host.say(NO_SUCH_CALL, batch_id=batch_id, index=index, tool_progress=progress)
        if behaviour != "quick":
            await asyncio.sleep(planned.pause)
        if behaviour == "failure":
            outcome = answer(f"{planned.mark} failed", is_error=True)
        else:
            outcome = answer(f"{planned.mark} answered", call_id=frame.execute.call_id)
            if planned.pause < 0.12:
                outcome.terminate = True
        self._begun[place] = outcome
        self._answer(place, outcome)
        # Of a tool that is tried again, the second answer may be the one to the next try.
        if behaviour == "twice":
            said = f"{planned.mark} answered" if own_name(planned.call) == "retry" else "answered twice"
            self._answer(place, answer(said))


def answer(text: str, **fields) -> ToolOutcome:
    return ToolOutcome(content=[Content(text=text)], **fields)
