"""What attacks are measured by: a booth of their own, and a good client that must not notice."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import grpc
import pytest
from toolbooth.v1.execution_pb2 import Batch, ExecuteBatchRequest

from booth import Booth
from client import SyncClient, call, text

# What a booth may take that does nothing for its attackers.
MOST_MEMORY = 64 << 20
# The default cap, over all listeners.
MOST_CONNECTIONS = 64

LISTENERS = pytest.mark.parametrize("listener", ["socket", "tcp"])


@contextmanager
def attacked(transport: str = "", most_memory: int = MOST_MEMORY) -> Iterator[Booth]:
    """A booth of the test's own, which ends well and has never grown large."""
    booth = Booth(transport)
    try:
        yield booth
        assert booth.peak_memory() < most_memory
    finally:
        booth.stop()


class GoodClient:
    """Calls without a pause, over one connection."""

    def __init__(self, target: str):
        self.plain = SyncClient(target)
        self._served = 0
        self._trouble = None
        self._over = threading.Event()
        self.play()
        self._thread = threading.Thread(target=self._go_on)

    def play(self) -> None:
        """One call, and its answer."""
        request = ExecuteBatchRequest(batch=Batch(calls=[call("c1", "echo", {"text": "good"})]))
        [result] = self.plain.call("ExecuteBatch", request).results
        assert text(result) == '{"text":"good"}'
        self._served += 1

    def _go_on(self) -> None:
        try:
            while not self._over.is_set():
                self.play()
        except (grpc.RpcError, AssertionError) as trouble:
            self._trouble = trouble

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._over.set()
        self._thread.join()
        # The attackers are still there.
        if self._trouble is None:
            self.play()
        self.plain.close()
        assert self._trouble is None
        assert self._served > 2
