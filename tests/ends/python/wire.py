"""Connections without a client: bytes and HTTP/2 frames as an attacker writes them."""

import select
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Self

from hpack import Encoder
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, PingFrame, SettingsFrame

from booth import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ENHANCE_YOUR_CALM = 11
# The largest frame that a server must take (RFC 9113, 4.2).
FRAME_BYTES = 16384
REQUEST = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/toolbooth.v1.ToolExecutionService/ExecuteBatch"),
    (":authority", "localhost"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
]


class Connection:
    """A socket to the booth on which nothing was said."""

    def __init__(self, target: str):
        if target.startswith("unix://"):
            self.socket, address = socket.socket(socket.AF_UNIX), target.removeprefix("unix://")
        else:
            host, port = target.split(":")
            self.socket, address = socket.socket(socket.AF_INET), (host, int(port))
        self.socket.settimeout(PATIENCE)
        self.since = time.monotonic()
        self.socket.connect(address)
        self._heard = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends, if the other end still listens."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def hears_within(self, seconds: float) -> bool:
        """Whether the booth says something, or closes the connection, in time."""
        return bool(select.select([self.socket], [], [], seconds)[0])

    def received(self) -> Iterator[bytes]:
        """What the booth sends, up to the end of the connection."""
        try:
            while data := self.socket.recv(1 << 16):
                yield data
        except ConnectionResetError:
            return

    def end(self) -> int | None:
        """Waits for the booth to close it: the error code of its GOAWAY, unless the reset of the socket has overtaken it."""
        codes = [frame.error_code for frame in self.frames() if isinstance(frame, GoAwayFrame)]
        return codes[-1] if codes else None

    def closed_after(self) -> float:
        """Waits for the booth to close it: the seconds since it was opened."""
        for _ in self.received():
            pass
        return time.monotonic() - self.since

    def frames(self) -> Iterator[Frame]:
        """The same as frames."""
        for data in self.received():
            self._heard += data
            while len(self._heard) >= 9:
                frame, length = Frame.parse_frame_header(memoryview(self._heard[:9]))
                if len(self._heard) < 9 + length:
                    break
                body, self._heard = self._heard[9 : 9 + length], self._heard[9 + length :]
                frame.parse_body(memoryview(body))
                yield frame

    def greet(self) -> bool:
        """Shakes hands as HTTP/2 does, and says whether the booth answered."""
        self.send(PREFACE + SettingsFrame(0).serialize())
        return self._is_acknowledged(SettingsFrame)

    def is_served(self) -> bool:
        """Whether the booth still answers a greeted connection."""
        self.send(PingFrame(0, opaque_data=b"are you?").serialize())
        return self._is_acknowledged(PingFrame)

    def _is_acknowledged(self, kind: type[Frame]) -> bool:
        return any(isinstance(frame, kind) and "ACK" in frame.flags for frame in self.frames())

    def flood(self, pieces: Iterable[bytes]) -> str:
        """Writes as fast as the booth takes it and reads nothing. Says how it ended: all was `sent`, the booth has `closed` the
        connection, or it has `stalled` and takes no more."""
        self.socket.setblocking(False)
        try:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    _, writable, _ = select.select([], [self.socket], [], STALLED_AFTER)
                    if not writable:
                        return "stalled"
                    rest = rest[self.socket.send(rest) :]
        except (BrokenPipeError, ConnectionResetError):
            return "closed"
        finally:
            self.socket.settimeout(PATIENCE)
        return "sent"


# A booth that reads nothing for so long while a good client is served has stopped reading.
STALLED_AFTER = 1


def headers(stream: int, fields: Iterable[tuple[str, str]] = REQUEST, flags: Iterable[str] = ("END_HEADERS",)) -> bytes:
    """A frame that opens a request. Its block refers to no other, so it may be sent again."""
    return HeadersFrame(stream, data=block(fields), flags=flags).serialize()


def block(fields: Iterable[tuple[str, str]]) -> bytes:
    """A header block that leaves nothing in the table of the connection."""
    return Encoder().encode([(name, value, True) for name, value in fields], huffman=False)
