"""What the tests stand on: a booth for all that leave it as it was, and the four ways to it."""

import pytest

from booth import Booth
from client import CLIENTS


@pytest.fixture(scope="session")
def booth():
    running = Booth()
    yield running
    running.stop()


@pytest.fixture(params=["socket", "tcp"])
def target(request, booth):
    """An address of the booth."""
    return booth.targets[request.param]


@pytest.fixture(params=CLIENTS)
def client(request, target):
    """A plain client with default options: asyncio and sync, over the socket and over TCP."""
    plain = CLIENTS[request.param](target)
    yield plain
    plain.close()
