"""The host of one run: it plays the plan, executes what it is asked for, and comes back whenever its stream is lost."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from random import Random

import grpc
from toolbooth.v1.execution_pb2 import (
    REJECT_REASON_BATCH_ID_REUSED,
    EndRun,
    FrameRejected,
    Open,
    RejectReason,
    RunResponse,
)
from toolbooth.v1.execution_pb2_grpc import ToolExecutionServiceStub
from toolbooth.v1.policy_pb2 import POLICY_STAGE_BEFORE, Allow, Deny, PolicyDecision

from .books import Books, RunBooks
from .executions import NO_SUCH_CALL, Executions
from .plan import PlannedBatch, PlannedRun
from .polls import is_gone, poll
from .sending import send
from .stream import Lost, Stream
from .troubles import befall


class RunOver(Exception):
    """The run does not go on."""


class Host:
    def __init__(self, books: Books, run: PlannedRun, folder: Path, booth: Path, control: ToolExecutionServiceStub):
        self.run, self.control = run, control
        self.counts = books.counts
        self.books = RunBooks(books, run)
        self.stream: Stream | None = None
        # A second stream that has taken over the run while the first still lives.
        self.taken_over: Stream | None = None
        # Held by whoever opens another stream.
        self.resuming = asyncio.Lock()
        # A stream may lead the run that its host has given up, or has not heard of yet.
        self.is_taking_over = False
        self.is_ending = False
        # The booth may deliver the batch twice; only another stream tells.
        self.must_come_back = False
        self.has_half_closed = False
        self._executions = Executions(self)
        self._folder, self._booth = folder, booth
        self._streams = self._turns = 0
        # Why a frame may be rejected, by its id.
        self._excused: dict[int, tuple[int, ...]] = {}
        self._tasks: list[asyncio.Task] = []

    def spawn(self, work: Coroutine) -> None:
        """Does something beside."""
        self._tasks.append(self._group.create_task(work))

    def say(self, reasons: tuple[int, ...] = (), **frame) -> int:
        """Says something that may be rejected for these reasons only."""
        frame_id = self.stream.say(**frame)
        self._excused[frame_id] = reasons
        return frame_id

    async def play(self) -> None:
        """Plays the run to its end. What goes wrong beside ends it, too."""
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._play()
                for task in self._tasks:
                    task.cancel()
        finally:
            for stream in filter(None, (self.stream, self.taken_over)):
                await stream.close()
            self.books.close()

    async def _play(self) -> None:
        self.counts["runs"] += 1
        try:
            await self._open()
            for number in range(self.run.batches):
                batch = self.run.batch(number)
                await self._play_batch(batch, with_troubles=True)
                for back in batch.again:
                    if number >= back:
                        self.counts["batches sent again after their end"] += 1
                        await self._play_batch(self.run.batch(number - back))
            await self._end()
        except RunOver:
            self.counts["runs that ended before their plan"] += 1

    async def _open(self) -> None:
        self.stream = await self._new_stream()
        opened = await self.stream.open(self.run.open)
        self.books.check(opened.run_id == self.run.id and not opened.resumed, f"opened as {opened}")
        self.books.check(opened.resume_grace.seconds == self.run.grace, f"the grace is {opened.resume_grace}")

    async def _new_stream(self) -> Stream:
        self._streams += 1
        return await Stream.over_new_line(self._folder, self._booth)

    async def _play_batch(self, batch: PlannedBatch, with_troubles: bool = False) -> None:
        """Sends the batch until all of it was heard."""
        if with_troubles:
            for trouble in batch.troubles:
                self.spawn(befall(self, batch, trouble))
            if batch.polled_after is not None:
                self.spawn(poll(self, batch.polled_after))
        while True:
            ended = None
            try:
                if self.books.delivery is None:
                    self._turns += 1
                    send(self, batch, self._turns)
                ended = await self._hear_out()
                if self.must_come_back:
                    await self._come_back()
            except Lost as lost:
                self._check_loss(lost)
                await self._come_back()
            if self.is_ending or (self.run.heeds and self.books.is_told_to_stop):
                await self._end()
                raise RunOver
            if ended is batch and (batch.id in self.books.forgotten or self.books.is_complete(batch)):
                return

    async def _hear_out(self) -> PlannedBatch:
        """Hears the batch that goes on to its end, or that it is forgotten."""
        batch = self.books.delivery.batch
        while self.books.delivery:
            await self._hear(await self.stream.read())
        return batch

    async def _hear(self, frame: RunResponse) -> None:
        kind = frame.WhichOneof("frame")
        self.books.note(f"hears {kind} {frame.batch_id} {frame.index if frame.HasField('index') else ''}")
        match kind:
            case "execute":
                planned = self.books.asked(frame.batch_id, frame.index, frame.execute)
                self._executions.begin(frame, planned)
            case "ask_policy":
                self._judge(frame)
            case "call_finished":
                self.books.result(frame.batch_id, frame.call_finished)
            case "batch_results":
                for result in frame.batch_results.results:
                    self.books.result(frame.batch_id, result)
            case "batch_finished":
                self.books.finished(frame.batch_id, frame.batch_finished)
            case "call_started" | "progress" | "cancel_execution":
                self.books.of_batch(frame.batch_id, kind)
                self.counts[f"frames: {kind}"] += 1
            case "frame_rejected":
                self._rejected(frame.reply_to, frame.frame_rejected)
            case _:
                self.books.check(False, f"an unexpected frame: {frame}")

    def _judge(self, frame: RunResponse) -> None:
        """Allows or denies, as the plan says."""
        planned = self.books.of_batch(frame.batch_id, "ask_policy").batch.calls[frame.index]
        decision = PolicyDecision(stage=POLICY_STAGE_BEFORE)
        if planned.allowed:
            decision.allow.CopyFrom(Allow())
        else:
            decision.deny.CopyFrom(Deny(reason="the plan says no"))
        self.counts["policy decisions"] += 1
        reasons = NO_SUCH_CALL if self.has_half_closed else ()
        self.say(reasons, batch_id=frame.batch_id, index=frame.index, policy_decision=decision)

    def _rejected(self, reply_to: int, rejected: FrameRejected) -> None:
        reasons = self._excused.get(reply_to, ())
        self.books.check(rejected.reason in reasons, f"frame {reply_to} was rejected: {rejected}")
        self.counts[f"rejected: {RejectReason.Name(rejected.reason).removeprefix('REJECT_REASON_')}"] += 1
        delivery = self.books.delivery
        if rejected.reason == REJECT_REASON_BATCH_ID_REUSED and delivery and delivery.frame_id == reply_to:
            self.books.forget()

    def _check_loss(self, lost: Lost) -> None:
        """A stream that nobody has disturbed ends for one of two reasons."""
        stream = self.stream
        self.books.note(f"lost: {lost}")
        self.counts[f"streams lost: {lost.code.name}"] += 1
        is_closed = stream.is_half_closed and lost.code is grpc.StatusCode.OK
        is_followed = self.is_taking_over and lost.code in (grpc.StatusCode.ABORTED, grpc.StatusCode.INTERNAL)
        is_expected = is_closed or is_followed or stream.is_disturbed or stream.is_reset
        self.books.check(is_expected, f"the stream was lost: {lost}")

    async def _come_back(self) -> None:
        """Goes on with the run over another stream."""
        self.books.delivery = None
        self.must_come_back = False
        await self.stream.close()
        if self.run.grace == 0:
            self.books.check(await is_gone(self.control, self.run.id), "the run waits for nobody, and is still there")
            raise RunOver
        since = time.monotonic()
        async with self.resuming:
            stream, self.taken_over = self.taken_over, None
            while not stream:
                dice = self.run.dice_of_stream(self._streams)
                await asyncio.sleep(dice.choice([0, 0, dice.uniform(0, 0.3), dice.uniform(0, 1)]))
                stream = await self._try_to_resume(dice, since)
            self.stream = stream
        opened = stream.opened
        self.books.note(f"resumed: running {opened.running_batch_id!r}, last {opened.last_batch_id!r}")
        self.counts["resumes in the middle of a batch" if opened.running_batch_id else "resumes between batches"] += 1
        self.books.go_on(opened.running_batch_id)

    async def _try_to_resume(self, dice: Random, since: float) -> Stream | None:
        try:
            return await self.resumed(dice, is_cut=dice.random() < 0.1)
        except Lost as lost:
            self.books.note(f"not resumed: {lost}")
            self.counts[f"resumes lost: {lost.code.name}"] += 1
            if lost.code is grpc.StatusCode.NOT_FOUND:
                waited = time.monotonic() - since
                self.books.check(waited > self.run.grace * 0.8, f"the run was gone after {waited:.3f} s")
                raise RunOver from lost
            return None

    async def resumed(self, dice: Random, is_cut: bool = False) -> Stream:
        """Another stream for the run, which may be cut while it opens."""
        stream = await self._new_stream()
        if is_cut:
            # The booth may hear of it after it has heard of the next one.
            stream.is_disturbed = self.is_taking_over = True
            asyncio.get_running_loop().call_later(dice.uniform(0, 0.03), stream.line.cut)
        try:
            opened = await stream.open(Open(run_id=self.run.id, resume=True, delivery=dice.choice([0, 1, 2])))
        except BaseException:
            await stream.close()
            raise
        self.books.check(opened.resumed and opened.run_id == self.run.id, f"resumed as {opened}")
        return stream

    async def _end(self) -> None:
        """Ends the run as the plan says."""
        how, self.is_ending = self.run.end, True
        self.counts[f"runs ended by: {how}"] += 1
        if how == "half-close":
            self.stream.half_close()
        is_said = how == "end run" and not self.stream.is_half_closed
        if is_said:
            self.say(end_run=EndRun(reason="the plan is over"))
        stream = self.stream
        try:
            while how != "left behind":
                await self._hear(await stream.read())
        except Lost as lost:
            is_ended = lost.code in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL)
            is_expected = is_ended or stream.is_disturbed or stream.is_reset or self.is_taking_over
            self.books.check(is_expected, f"the stream was lost at the end: {lost}")
            if is_said and lost.code is grpc.StatusCode.OK:
                self.books.check(await is_gone(self.control, self.run.id), "the run was ended, and is still there")
