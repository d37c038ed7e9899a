"""A booth to test against: the real program, on a socket and on a TCP port at once."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
# The contracts that the tests of the ends are about.
TOOLS = (REPOSITORY / "examples" / "contracts", REPOSITORY / "tests" / "ends" / "contracts")
# How long a test waits before it fails: no speed is meant by it.
PATIENCE = 20


class Booth:
    """`toolbooth serve` in a folder of its own."""

    def __init__(self, transport: str = "", tools: Sequence[Path] = TOOLS, served: int = 6, flags: Sequence[str | Path] = ()):
        """`transport`: a flow mapping in YAML for the block of that name in the settings; without it, the defaults.
        `served`: how many tools there are in `tools`."""
        self.folder = Path(tempfile.mkdtemp(prefix="toolbooth-ends-"))
        self.socket = self.folder / "booth.sock"
        (self.folder / "booth.yaml").write_text(f"transport: {transport}\n" if transport else "grace: 20s\n")
        listeners = ["--socket", self.socket, "--tcp", "127.0.0.1:0", "--config", self.folder / "booth.yaml"]
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [os.environ["TOOLBOOTH_BIN"], "serve", *listeners, *flags, "--tools", *tools],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        said = "".join(self._process.stdout.readline() for _ in range(3))
        expected = (
            rf"listening on unix://{self.socket}\nlistening on (127\.0\.0\.1:\d+)\ntools: {served} served, 0 quarantined\n"
        )
        started = re.fullmatch(expected, said)
        if started is None:
            self._process.kill()
            raise AssertionError(f"the booth did not start: {said}{self.log()}")
        self.tcp = started[1]

    @property
    def targets(self) -> dict[str, str]:
        """Where a client connects to, by the kind of the listener."""
        return {"socket": f"unix://{self.socket}", "tcp": self.tcp}

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        """What it has logged last; nothing once its folder is gone."""
        log = self.folder / "log"
        return "\n".join(log.read_text().splitlines()[-20:]) if log.exists() else ""

    def memory(self) -> int:
        """Bytes that it has in memory."""
        return self._status("VmRSS")

    def peak_memory(self) -> int:
        """The most bytes that it ever had in memory."""
        return self._status("VmHWM")

    def _status(self, field: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) << 10

    def terminate(self) -> None:
        """Tells it to end, as Kubernetes does."""
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ends it. It must go at once and clean up, since nothing runs any more."""
        self.terminate()
        self.see_end()

    def see_end(self) -> None:
        """Waits for the end of a booth that was told to end: it must be a good one, and clean."""
        try:
            code = self._process.wait(PATIENCE)
        finally:
            left = self.socket.exists()
            # Shown by pytest beside a failure.
            print(self.log(), file=sys.stderr)
            self.kill()
        assert code == 0
        assert not left, "the socket is gone"

    def kill(self) -> None:
        """Ends it whatever it does, and leaves nothing of it."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
