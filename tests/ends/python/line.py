"""A connection that can be cut, between a client and the booth."""

import socket
import tempfile
import threading
from contextlib import suppress
from typing import Self


class Line:
    """Takes one connection, of the kind that the booth takes, and passes its bytes on, both ways."""

    def __init__(self, target: str):
        self._folder = tempfile.TemporaryDirectory(prefix="toolbooth-line-")
        if target.startswith("unix://"):
            near = f"{self._folder.name}/near.sock"
            self._listener, self.target = socket.socket(socket.AF_UNIX), f"unix://{near}"
            self._listener.bind(near)
            self._listener.listen()
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._booth = target
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._forward, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.cut()
        self._folder.cleanup()

    def _forward(self) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:
            # Nobody has ever connected.
            return
        far = connect(self._booth)
        self._ends = [near, far]
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(source, sink), daemon=True).start()

    def cut(self) -> None:
        """Both ends lose their connection, and nobody has said anything of it."""
        # The threads that wait for these ends go on by it.
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    with source, suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)


def connect(target: str) -> socket.socket:
    """A connection to where a gRPC target points."""
    if target.startswith("unix://"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(target.removeprefix("unix://"))
        return connection
    host, port = target.split(":")
    return socket.create_connection((host, int(port)))
