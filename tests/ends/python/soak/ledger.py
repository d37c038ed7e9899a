"""What was accepted, as the booth tells whoever consumes it."""

import asyncio
import json
from collections.abc import Iterable

import grpc
from toolbooth.v1.submission_pb2 import ListSubmissionsRequest, WatchSubmissionsRequest
from toolbooth.v1.submission_pb2_grpc import SubmissionServiceStub
from toolbooth.v1.types_pb2 import Submission

from booth import PATIENCE

from .books import Books


class Ledger:
    """Watches from the beginning."""

    def __init__(self, channel: grpc.aio.Channel):
        self._service = SubmissionServiceStub(channel)
        self._watched: list[Submission] = []

    async def watch(self) -> None:
        async for answer in self._service.WatchSubmissions(WatchSubmissionsRequest()):
            self._watched.append(answer.submission)

    async def _listed(self) -> list[Submission]:
        listed, token = [], ""
        while True:
            page = await self._service.ListSubmissions(ListSubmissionsRequest(page_size=1000, page_token=token))
            listed += page.submissions
            token = page.next_page_token
            if not token:
                return listed

    async def check(self, books: Books) -> int:
        """Every acknowledgement is there, and nothing is there twice; how many there are."""
        listed = await self._listed()
        async with asyncio.timeout(PATIENCE):
            while len(self._watched) < len(listed):
                await asyncio.sleep(0.05)
        by_key = {key(submission): submission for submission in listed}
        assert len(by_key) == len(listed), f"accepted twice: {twice(map(key, listed))}"
        sequences = [submission.sequence for submission in listed]
        assert sequences == sorted(set(sequences)), "the order of acceptance is broken"
        assert self._watched == listed, f"watched {len(self._watched)}, and listed {len(listed)}"
        for place, (run, _, _, call_id, arguments) in books.accepted.items():
            kept = by_key.get(place)
            assert kept is not None, f"{place} was acknowledged, and is not there"
            assert (kept.run_id, kept.call_id, json.loads(kept.arguments)) == (run, call_id, arguments), f"{place}: {kept}"
        return len(listed)


def key(submission: Submission) -> tuple[str, str, str]:
    arguments = json.loads(submission.arguments)
    return submission.task, submission.tool, arguments.get("key", submission.run_id)


def twice(keys: Iterable[tuple]) -> set[tuple]:
    seen: set[tuple] = set()
    return {key for key in keys if key in seen or seen.add(key)}
