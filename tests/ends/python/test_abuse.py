"""Connections that mean harm, over the socket and over TCP: they get what they deserve, a good client is served before,
meanwhile and afterwards, and the booth's memory stays small."""

import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, repeat

import grpc
import pytest
from h2.connection import H2Connection
from h2.events import ResponseReceived
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, PingFrame, PriorityFrame, SettingsFrame, WindowUpdateFrame
from toolbooth.v1.execution_pb2 import Batch, ExecuteBatchRequest

from abuse import LISTENERS, MOST_CONNECTIONS, GoodClient, attacked
from booth import PATIENCE
from client import call
from wire import ENHANCE_YOUR_CALM, FRAME_BYTES, PREFACE, REQUEST, Connection, block, headers

FIRST_BYTES = 0.3


def is_served(target: str) -> bool:
    """Whether a newcomer is served."""
    with Connection(target) as newcomer:
        return newcomer.greet() and newcomer.is_served()


@LISTENERS
def test_silent_connections_are_closed_after_the_time_for_first_bytes_and_not_before(listener):
    with attacked(f"{{first_bytes: {int(FIRST_BYTES * 1000)}ms}}") as booth, ExitStack() as connections:
        target = booth.targets[listener]
        greeted = connections.enter_context(Connection(target))
        assert greeted.greet()
        with GoodClient(target):
            silent = [connections.enter_context(Connection(target)) for _ in range(20)]
            # Some begin as they should, and stop one byte before the end.
            for number, connection in enumerate(silent):
                connection.send(PREFACE[: number % len(PREFACE)])
            lived = [connection.closed_after() for connection in silent]
        assert min(lived) >= FIRST_BYTES
        # Far from the default, so the setting is what counts.
        assert max(lived) < 10 * FIRST_BYTES
        assert greeted.is_served(), "who has said his first bytes may be silent"
        assert is_served(target)


@LISTENERS
def test_first_bytes_that_trickle_in_gain_no_time(listener):
    with attacked(f"{{first_bytes: {int(FIRST_BYTES * 1000)}ms}}") as booth, Connection(booth.targets[listener]) as slow:
        # All of them would take 2.3 s.
        for byte in PREFACE[:-1]:
            slow.send(bytes([byte]))
            if slow.hears_within(0.1):
                break
        assert FIRST_BYTES <= slow.closed_after() < 2


@LISTENERS
def test_the_cap_on_connections_holds_and_a_free_place_is_given_again(listener):
    with attacked() as booth, ExitStack() as connections:
        target = booth.targets[listener]
        others = list(booth.targets.values())
        with GoodClient(target):
            # The cap counts the connections of both listeners; the good client has one.
            held = [connections.enter_context(Connection(others[n % 2])) for n in range(MOST_CONNECTIONS - 1)]
            assert [connection.greet() for connection in held] == [True] * len(held)
            for over in others * 4:
                with Connection(over) as refused:
                    assert not refused.greet(), "one too many"
            assert [connection.is_served() for connection in held] == [True] * len(held)
            held[0].socket.close()
            # Until the booth has learnt of it, a newcomer is still one too many.
            until = time.monotonic() + PATIENCE
            while not is_served(target):
                assert time.monotonic() < until


@LISTENERS
def test_rapid_reset_ends_its_own_connection_only(listener):
    attacker = H2Connection()
    attacker.initiate_connection()
    for _ in range(5000):
        stream = attacker.get_next_available_stream_id()
        attacker.send_headers(stream, REQUEST)
        attacker.reset_stream(stream)
    with attacked() as booth, Connection(booth.targets[listener]) as connection, Connection(booth.targets[listener]) as other:
        assert other.greet()
        with GoodClient(booth.targets[listener]):
            connection.flood([attacker.data_to_send()])
            assert connection.end() in (ENHANCE_YOUR_CALM, None)
        assert other.is_served()
        assert is_served(booth.targets[listener])


def often(frame: Frame) -> Iterator[bytes]:
    """A million of them, in large pieces."""
    return repeat(frame.serialize() * 1000, 1000)


FLOODS = {
    "pings": lambda: often(PingFrame(0, opaque_data=b"12345678")),
    "settings": lambda: often(SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: 65535})),
    "priorities": lambda: often(PriorityFrame(1, stream_weight=1)),
    "window updates": lambda: often(WindowUpdateFrame(0, window_increment=1)),
    # A message of 4 GiB, without regard to any window.
    "data": lambda: chain(
        [headers(1), DataFrame(1, data=b"\0\xff\xff\xff\xff").serialize()],
        repeat(DataFrame(1, data=bytes(FRAME_BYTES)).serialize(), 4000),
    ),
}


@LISTENERS
@pytest.mark.parametrize("frames", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_frames_harms_nobody_else(listener, frames):
    with attacked() as booth, Connection(booth.targets[listener]) as connection:
        assert connection.greet()
        with GoodClient(booth.targets[listener]):
            connection.flood(frames())
        assert is_served(booth.targets[listener])


@LISTENERS
def test_a_header_list_without_an_end_ends_its_own_connection_only(listener):
    endless = repeat(ContinuationFrame(1, data=block([("x", "y" * 1000)] * 16)).serialize(), 2000)
    with attacked() as booth, Connection(booth.targets[listener]) as connection:
        assert connection.greet()
        with GoodClient(booth.targets[listener]):
            assert connection.flood(chain([headers(1, flags=())], endless)) == "closed"
            assert connection.end() in (ENHANCE_YOUR_CALM, None)
        assert is_served(booth.targets[listener])


@LISTENERS
def test_a_header_list_over_16_kib_is_refused_and_one_below_it_is_not(listener):
    def status(size: int) -> bytes:
        """What a request with so many bytes of metadata is answered."""
        stream = peer.get_next_available_stream_id()
        metadata = [(f"x-{n}", "y" * 1000) for n in range(size // 1000)]
        peer.send_headers(stream, [*REQUEST, *metadata], end_stream=True)
        connection.send(peer.data_to_send())
        events = (event for data in connection.received() for event in peer.receive_data(data))
        answer = next(event for event in events if isinstance(event, ResponseReceived) and event.stream_id == stream)
        return dict(answer.headers)[b":status"]

    peer = H2Connection()
    peer.initiate_connection()
    with attacked() as booth, Connection(booth.targets[listener]) as connection:
        with GoodClient(booth.targets[listener]):
            assert [status(12_000), status(18_000), status(12_000)] == [b"200", b"431", b"200"]
        assert is_served(booth.targets[listener])


@LISTENERS
def test_a_message_over_4_mib_is_refused_by_its_size_and_the_connection_goes_on(listener):
    batch = Batch(calls=[call("c1", "echo", {"text": "x" * (5 << 20)})])
    with attacked() as booth, GoodClient(booth.targets[listener]) as client:
        with pytest.raises(grpc.RpcError, match="the limit is: 4194304 bytes") as refused:
            client.plain.call("ExecuteBatch", ExecuteBatchRequest(batch=batch))
        assert refused.value.code() is grpc.StatusCode.OUT_OF_RANGE
        run = client.plain.run()
        run.open()
        run.say(batch=batch)
        with pytest.raises(grpc.RpcError, match="the limit is: 4194304 bytes") as refused:
            run.read()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def client_hello() -> bytes:
    """What a TLS client says first."""
    said = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return said.read()


STRANGERS = {
    "TLS": client_hello(),
    "HTTP/1.1": b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "an upgrade from HTTP/1.1": b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\n"
    b"http2-settings: AAMAAABkAAQAAP__\r\n\r\n",
    "a preface with a wrong letter": PREFACE[:-5] + b"m\r\n\r\n" + SettingsFrame(0).serialize(),
    "a preface and then noise": PREFACE + bytes(range(256)) * 64,
    "zeros": bytes(1 << 16),
}


@LISTENERS
@pytest.mark.parametrize("said", STRANGERS.values(), ids=STRANGERS)
def test_who_does_not_speak_http_2_is_sent_away_at_once(listener, said):
    with attacked() as booth, Connection(booth.targets[listener]) as stranger:
        with GoodClient(booth.targets[listener]):
            stranger.send(said)
            # Before the time for first bytes is over.
            assert stranger.closed_after() < 5
        assert is_served(booth.targets[listener])
