"""What is known of every call, and what must hold of it."""

import json
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from toolbooth.v1.execution_pb2 import BatchFinished, Execute
from toolbooth.v1.types_pb2 import (
    ERROR_CODE_ALREADY_ACCEPTED,
    ERROR_CODE_CANCELLED,
    ERROR_CODE_OVERLOADED,
    ERROR_CODE_TRUNCATED,
    VERDICT_REASON_CANCELLED,
    VERDICT_REASON_TRUNCATED,
    CallResult,
    ErrorCode,
    ToolCall,
)

from client import text

from .plan import ACCEPTING, HOST_TOOLS, Planned, PlannedBatch, PlannedRun

# What says nothing about a call that was not executed: it may be executed when its batch is sent again.
ABOUT_THE_BATCH = (ERROR_CODE_CANCELLED, ERROR_CODE_TRUNCATED, ERROR_CODE_OVERLOADED)
PROGRAMS = ("line", "hang", "pin")


class Violation(AssertionError):
    """The booth has done what it must not do."""


@dataclass
class Books:
    """What all runs together know."""

    counts: Counter = field(default_factory=Counter)
    codes: Counter = field(default_factory=Counter)
    # By task, tool and key: the place of the call that was accepted, and its arguments.
    accepted: dict[tuple, tuple] = field(default_factory=dict)
    # Marks of programs that must have run once, and of those that must not have run.
    ran: dict[str, str] = field(default_factory=dict)
    never_ran: set[str] = field(default_factory=set)


@dataclass
class Delivery:
    """A batch as one stream hears it."""

    batch: PlannedBatch
    # The frame that began it.
    frame_id: int = 0
    # All of it was said, and nothing has ended it before.
    is_whole: bool = False
    # It was cancelled while it was coming in pieces, or may have been.
    is_cut: bool = False
    results: dict[int, CallResult] = field(default_factory=dict)


class RunBooks:
    """What is known of the calls of one run."""

    def __init__(self, books: Books, run: PlannedRun):
        self.books, self.run = books, run
        self.batches: dict[str, PlannedBatch] = {}
        self.first_sent: dict[str, float] = {}
        self.over: set[str] = set()
        self.forgotten: set[str] = set()
        self.delivery: Delivery | None = None
        self.is_told_to_stop = False
        self._came_in_pieces: set[str] = set()
        self._heard: dict[tuple[str, int], CallResult] = {}
        # Heard, and their batch has ended since.
        self._recorded: set[tuple[str, int]] = set()
        self._asked: set[tuple[str, int, int]] = set()
        self._trace: deque[str] = deque(maxlen=150)

    def note(self, line: str) -> None:
        self._trace.append(f"{time.monotonic():.3f} {line}")

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            trace = "\n  ".join(self._trace)
            raise Violation(f"{self.run.id}: {otherwise}\n{self.run.open}\n  {trace}")

    def sent(self, batch: PlannedBatch, frame_id: int, is_whole: bool) -> Delivery:
        """The batch, or the beginning of it, goes out."""
        self.batches[batch.id] = batch
        self.first_sent.setdefault(batch.id, time.monotonic())
        if not is_whole:
            self._came_in_pieces.add(batch.id)
        self.delivery = Delivery(batch, frame_id, is_whole)
        return self.delivery

    def go_on(self, batch_id: str) -> None:
        """Another stream goes on with this batch; empty for none."""
        self.check(not batch_id or batch_id in self.batches, f"the booth runs {batch_id!r}, which was not sent")
        is_whole = batch_id not in self._came_in_pieces
        self.delivery = Delivery(self.batches[batch_id], is_whole=is_whole) if batch_id else None

    def came_in_pieces(self, batch: PlannedBatch) -> bool:
        """Whether it was ever sent so."""
        return batch.id in self._came_in_pieces

    def is_complete(self, batch: PlannedBatch) -> bool:
        """Whether the end of the batch, and every result of it, was heard."""
        return batch.id in self.over and all((batch.id, index) in self._heard for index in range(len(batch.calls)))

    def may_be_forgotten(self, batch: PlannedBatch) -> bool:
        """Whether the booth may not keep its results any more."""
        since = self.first_sent.get(batch.id)
        return since is not None and time.monotonic() - since > 0.8 * self.run.grace

    def of_batch(self, batch_id: str, kind: str) -> Delivery:
        self.check(
            self.delivery is not None and self.delivery.batch.id == batch_id,
            f"{kind} of batch {batch_id!r}, which is not the one that goes on",
        )
        return self.delivery

    def forget(self) -> None:
        """The booth does not keep the results of the batch any more."""
        self.forgotten.add(self.delivery.batch.id)
        self.delivery = None

    def asked(self, batch_id: str, index: int, execute: Execute) -> Planned:
        """The host is asked to execute a call."""
        delivery = self.of_batch(batch_id, "execute")
        planned, place = delivery.batch.calls[index], (batch_id, index, execute.attempt)
        self.check(index not in delivery.results, f"asked to execute {place} after its result")
        self.check(
            execute.tool == own_name(planned.call) and execute.tool in HOST_TOOLS, f"asked for {execute.tool} at {place}"
        )
        self.check(execute.again or place not in self._asked, f"asked to execute {place} twice, and not told so")
        self.check(json.loads(execute.arguments)["mark"] == planned.mark, f"asked to execute {place} with other arguments")
        self.check(planned.allowed or not self.run.open.ask_before, f"asked to execute {place}, which was denied")
        self.check(first_of_id(delivery.batch, index) is None, f"asked to execute {place}, whose id was there before")
        self._asked.add(place)
        self.books.counts["executions asked again" if execute.again else "executions asked"] += 1
        return planned

    def result(self, batch_id: str, result: CallResult) -> None:
        """A result has come."""
        delivery = self.of_batch(batch_id, "a result")
        index, place = result.index, f"{batch_id}/{result.index}"
        self.check(index < len(delivery.batch.calls), f"a result of {place}, which was not sent")
        self.check(index not in delivery.results, f"a second result of {place}:\n{result}")
        delivery.results[index] = result
        call = delivery.batch.calls[index].call
        self.check(result.call_id == call.id if call.id else bool(result.call_id), f"{place} has the id {result.call_id!r}")
        # A call that was cut off on its way: nothing can be told of it but that.
        is_cut_off = result.error.code == ERROR_CODE_TRUNCATED and call.arguments.startswith(result.raw_arguments)
        is_this = result.tool == call.name and (is_cut_off or result.raw_arguments == call.arguments)
        self.check(is_this, f"the result of {place} is of another call:\n{result}")
        self.check(result.attempts == 0 or not result.replayed, f"{place} is replayed, and was tried {result.attempts} times")
        self._look_at(delivery.batch, result)
        if not is_cut_off or (batch_id, index) not in self._heard:
            self._compare(batch_id, result)
        self.books.counts["results"] += 1
        self.books.counts["replayed results"] += result.replayed
        self.books.codes[ErrorCode.Name(result.error.code).removeprefix("ERROR_CODE_") if result.is_error else "ok"] += 1

    def _compare(self, batch_id: str, result: CallResult) -> None:
        """What was heard before stands."""
        earlier = self._heard.get((batch_id, result.index))
        if earlier is None or says_nothing(earlier):
            self._heard[batch_id, result.index] = result
            return
        place = f"{batch_id}/{result.index}"
        self.check(content(earlier) == content(result), f"{place} has changed from\n{earlier}\nto\n{result}")
        if (batch_id, result.index) in self._recorded:
            self.check(result.replayed and not result.executed, f"{place} was over, and is not replayed:\n{result}")

    def _look_at(self, batch: PlannedBatch, result: CallResult) -> None:
        planned, tool = batch.calls[result.index], own_name(batch.calls[result.index].call)
        place = f"{batch.id}/{result.index}"
        first = first_of_id(batch, result.index)
        if first is not None:
            self.check(not result.executed, f"{place} has the id of {first}, and was executed:\n{result}")
            is_copy = is_same(batch.calls[first].call, planned.call)
            self.check(result.is_error or (is_copy and result.replayed), f"{place} is no copy of {first}:\n{result}")
        if result.is_error:
            self.check(not (result.executed and result.replayed), f"{place} is executed and replayed")
            if result.error.code == ERROR_CODE_ALREADY_ACCEPTED:
                self._refused(tool, planned.call, place)
            return
        self.check(result.executed != result.replayed, f"{place} is neither executed nor replayed, or both:\n{result}")
        said = text(result)
        if tool in HOST_TOOLS:
            self.check(said == f"{planned.mark} answered", f"{place} says {said!r}, which the host has not answered")
        elif tool == "echo":
            self.check(json.loads(said)["mark"] == planned.mark, f"{place} says {said!r}")
        elif tool in PROGRAMS:
            key = self.books.ran.setdefault(planned.mark, said.strip())
            self.check(key == said.strip(), f"{place} was executed under the keys {key!r} and {said!r}")
        if tool in ACCEPTING:
            self._accepted(tool, planned.call, result)

    def _accepted(self, tool: str, call: ToolCall, result: CallResult) -> None:
        place, arguments = (self.run.id, self.delivery.batch.id, result.index), json.loads(result.arguments)
        key = self._key(tool, call)
        if result.executed:
            self.books.accepted.setdefault(key, (*place, result.call_id, arguments))
            taken = self.books.accepted[key]
            self.check(taken[:3] == place, f"{key} was accepted for {taken} and for {place}")
        elif key in self.books.accepted:
            self.check(self.books.accepted[key][-1] == arguments, f"{key} was replayed for other arguments at {place}")

    def _refused(self, tool: str, call: ToolCall, place: str) -> None:
        taken = self.books.accepted.get(self._key(tool, call))
        if taken is not None:
            self.check(taken[-1] != json.loads(call.arguments), f"{place} was refused where it was accepted before")

    def _key(self, tool: str, call: ToolCall) -> tuple:
        return self.run.task, tool, json.loads(call.arguments).get("key", self.run.id)

    def finished(self, batch_id: str, finished: BatchFinished) -> None:
        """A batch is over."""
        delivery = self.of_batch(batch_id, "the end")
        batch, results = delivery.batch, delivery.results
        count = len(finished.call_ids)
        self.check(
            sorted(results) == list(range(count)), f"{batch_id} ends with {count} calls and the results {sorted(results)}"
        )
        self.check(
            count == len(batch.calls) or not delivery.is_whole, f"{batch_id} ends with {count} of {len(batch.calls)} calls"
        )
        ids = [results[index].call_id for index in range(count)]
        self.check(ids == list(finished.call_ids), f"{batch_id} names {list(finished.call_ids)}, and not {ids}")
        self._judge(delivery, finished)
        self.over.add(batch_id)
        self._recorded |= {(batch_id, index) for index in results if not says_nothing(self._heard[batch_id, index])}
        self.delivery = None
        self.books.counts["batches ended"] += 1

    def _judge(self, delivery: Delivery, finished: BatchFinished) -> None:
        verdict, results = finished.verdict, delivery.results
        blocking = [index for index in sorted(results) if not results[index].terminate]
        self.check(list(verdict.blocking) == blocking, f"{list(verdict.blocking)} block, and not {blocking}")
        agreed = bool(results) and not blocking
        overruled = verdict.reason in (VERDICT_REASON_CANCELLED, VERDICT_REASON_TRUNCATED)
        self.check(verdict.terminate == (agreed and not overruled), f"the verdict is wrong:\n{verdict}\n{results}")
        self.check(not verdict.stop or bool(verdict.limit), f"told to stop without a limit:\n{verdict}")
        listed = {(accepted.tool, accepted.arguments) for accepted in verdict.accepted}
        for index, result in results.items():
            tool = own_name(delivery.batch.calls[index].call)
            if tool in ACCEPTING and not result.is_error:
                self.check(
                    (tool, result.arguments) in listed, f"{index} was accepted, and the verdict does not say so:\n{verdict}"
                )
        self.is_told_to_stop |= verdict.stop
        self.books.counts["batches that terminate"] += verdict.terminate

    def close(self) -> None:
        """The run is over: what its programs must have done, as far as it is known."""
        for batch in self.batches.values():
            for index, planned in enumerate(batch.calls):
                heard = self._heard.get((batch.id, index))
                # A key may be shared with other batches and runs.
                if own_name(planned.call) not in ("line", "hang") or heard is None or planned.call.idempotency_key:
                    continue
                alike = [other for other, call in enumerate(batch.calls) if call.mark == planned.mark]
                results = [self._heard.get((batch.id, other)) for other in alike]
                if all(result is not None and not result.executed and not result.replayed for result in results):
                    self.books.never_ran.add(planned.mark)


def says_nothing(result: CallResult) -> bool:
    return not result.executed and result.error.code in ABOUT_THE_BATCH


def content(result: CallResult) -> CallResult:
    """What must be the same whenever the result is given."""
    same = CallResult()
    same.CopyFrom(result)
    for changing in ("executed", "replayed", "attempts", "duration"):
        same.ClearField(changing)
    return same


def own_name(call: ToolCall) -> str:
    return call.name.removeprefix("functions.")


def is_same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.arguments == other.arguments


def first_of_id(batch: PlannedBatch, index: int) -> int | None:
    """The call before this one that has its id."""
    id = batch.calls[index].call.id
    return next((other for other in range(index) if id and batch.calls[other].call.id == id), None)
