"""What happens in a run. Every decision hangs on the seed and on its place only, so that a seed decides the same again."""

import json
from dataclasses import dataclass
from random import Random

from toolbooth.v1.execution_pb2 import (
    ON_DISCONNECT_CANCEL,
    ON_DISCONNECT_KEEP,
    Batch,
    Open,
)
from toolbooth.v1.types_pb2 import EXECUTION_MODE_PARALLEL, EXECUTION_MODE_SEQUENTIAL, Finish, Limits, ToolCall

# Tools that the host executes, and those that say a key of their own.
HOST_TOOLS = ("ask", "retry", "effect", "long", "single", "few", "claim")
ACCEPTING = ("pin", "claim", "deliver")
# How often a tool is called.
TOOLS = {
    "ask": 20,
    "retry": 8,
    "effect": 8,
    "long": 6,
    "few": 4,
    "echo": 30,
    "line": 8,
    "hang": 1,
    "claim": 4,
    "pin": 3,
    "deliver": 4,
}
# How often the host does what when it is asked.
BEHAVIOURS = {"quick": 40, "slow": 20, "never": 4, "twice": 8, "other id": 6, "other place": 5, "progress": 10, "failure": 7}
# How often what happens to the line, the stream or the batch while a batch runs.
TROUBLES = {
    "cut": 10,
    "half-open line": 4,
    "stall": 6,
    "stall and cut": 6,
    "delay": 4,
    "reset": 5,
    "takeover": 9,
    "half-close": 4,
    "cancel call": 10,
    "cancel batch": 4,
    "cancel run": 1,
    "unusable frame": 6,
    "sent again": 5,
}
# How often a batch is sent in what manner.
MANNERS = {"whole": 60, "pieces": 20, "eager": 20}


def pick(dice: Random, weights: dict[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]


@dataclass
class Planned:
    """A call, and what the host does when it is asked to execute it."""

    call: ToolCall
    mark: str
    behaviour: str
    pause: float
    allowed: bool = True


@dataclass
class Trouble:
    """Something that happens while a batch runs."""

    kind: str
    after: float
    dice: Random


@dataclass
class PlannedBatch:
    id: str
    calls: list[Planned]
    mode: int
    finish: str
    manner: str
    troubles: list[Trouble]
    polled_after: float | None
    # Earlier batches that are sent again when this one is over, as steps back.
    again: list[int]

    def frame(self) -> Batch:
        return Batch(calls=[planned.call for planned in self.calls], finish=Finish(raw=self.finish), mode=self.mode)


@dataclass
class PlannedRun:
    id: str
    task: str
    seed: str
    open: Open
    batches: int
    end: str
    grace: float
    # Whether the host stops when it is told to.
    heeds: bool

    def dice_of_stream(self, number: int) -> Random:
        """What the stream of this number is like, and how its host comes back after it."""
        return Random(f"{self.seed}/{self.id}/stream {number}")

    def batch(self, number: int) -> PlannedBatch:
        dice = Random(f"{self.seed}/{self.id}/{number}")
        size = dice.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, dice.randint(0, 40)])
        calls: list[Planned] = []
        sequential = dice.random() < 0.15
        for index in range(size):
            calls.append(self._call(dice, f"{self.id}/{number}/{index}", calls, sequential))
        return PlannedBatch(
            id=f"b{number}",
            calls=calls,
            mode=EXECUTION_MODE_SEQUENTIAL if sequential else EXECUTION_MODE_PARALLEL,
            finish="length" if dice.random() < 0.03 else dice.choice(["tool_calls", "tool_use", ""]),
            manner=pick(dice, MANNERS),
            troubles=[self._trouble(number, nth) for nth in range(dice.choice([0, 0, 0, 1, 1, 2]))],
            polled_after=dice.uniform(0, 0.5) if dice.random() < 0.3 else None,
            again=[dice.randint(0, 3) for _ in range(dice.choice([0, 0, 0, 1, 2]))],
        )

    def _trouble(self, batch: int, number: int) -> Trouble:
        dice = Random(f"{self.seed}/{self.id}/{batch}/trouble {number}")
        return Trouble(pick(dice, TROUBLES), dice.uniform(0, 0.6), dice)

    def _call(self, dice: Random, mark: str, earlier: list[Planned], sequential: bool) -> Planned:
        with_id = [planned for planned in earlier if planned.call.id]
        if with_id and dice.random() < 0.06:
            return self._copy(dice, mark, with_id)
        name = "single" if dice.random() < 0.01 else pick(dice, TOOLS)
        arguments = {"mark": mark}
        key = ""
        if name in ("pin", "claim"):
            arguments["key"] = f"key {dice.randint(0, 5)}"
            # Mostly the same arguments whoever calls, so that there is something to replay.
            arguments["mark"] = f"{self.task}/{name}/{arguments['key']}/{int(dice.random() < 0.2)}"
        elif name in ("echo", "line", "ask", "effect") and dice.random() < 0.06:
            key = f"{self.task}/host key {dice.randint(0, 5)}"
            arguments["mark"] = f"{key}/{int(dice.random() < 0.2)}"
        elif name == "deliver":
            arguments["mark"] = f"{self.id}/{int(dice.random() < 0.2)}"
        sent = json.dumps(arguments)
        if dice.random() < 0.1:
            name, sent = self._spoilt(dice, name, sent)
        call_id = "" if dice.random() < 0.05 else f"c{len(earlier)}"
        call = ToolCall(id=call_id, name=name, arguments=sent.encode(), idempotency_key=key)
        behaviour = pick(dice, BEHAVIOURS)
        if sequential and behaviour == "never":
            behaviour = "quick"
        return Planned(call, arguments["mark"], behaviour, dice.uniform(0.01, 0.25), allowed=dice.random() < 0.9)

    def _copy(self, dice: Random, mark: str, earlier: list[Planned]) -> Planned:
        """A call with an id that was there before: the same call, or another one."""
        first = dice.choice(earlier)
        call = ToolCall()
        call.CopyFrom(first.call)
        if dice.random() < 0.3:
            call.arguments = json.dumps({"mark": mark}).encode()
            return Planned(call, mark, first.behaviour, first.pause)
        return Planned(call, first.mark, first.behaviour, first.pause, first.allowed)

    def _spoilt(self, dice: Random, name: str, sent: str) -> tuple[str, str]:
        return dice.choice(
            [
                ("no_such_tool", sent),
                (f"functions.{name}", sent),
                (name, sent[: len(sent) // 2]),
                (name, "not JSON"),
                (name, "[1]"),
                (name, "{}"),
                (name, '{"mark": {"a": 1}}'),
                (name, sent[:-1] + ', "more": 1}'),
            ]
        )


def run(seed: str, slot: int, turn: int) -> PlannedRun:
    """The run that a slot plays in its turn."""
    dice = Random(f"{seed}/{slot}/{turn}")
    id = f"run {slot}.{turn}"
    # Some runs share their task, and race for its keys.
    task = f"task {turn}.{slot % 10}" if dice.random() < 0.7 else ""
    grace = dice.choice([0, 3, 8, 8, 8])
    limits = dice.choice([Limits()] * 7 + [Limits(max_turns=4), Limits(max_calls=30), Limits(max_consecutive_invalid=4)])
    opened = Open(
        run_id=id,
        task_key=task,
        limits=limits,
        on_disconnect=dice.choice([ON_DISCONNECT_KEEP, ON_DISCONNECT_KEEP, ON_DISCONNECT_CANCEL]),
        ask_before=dice.random() < 0.15,
    )
    opened.resume_grace.seconds = grace
    end = dice.choice(["end run", "end run", "half-close", "left behind"])
    return PlannedRun(id, task or id, seed, opened, dice.randint(3, 14), end, grace, dice.random() < 0.5)
