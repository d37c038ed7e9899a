"""What runs: the booth by the flags of the rendered pod, in a folder of the test's own, and the pod's agent beside it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request

import pytest
from pod import ROOT, mount


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The folder with the agent's client, made from the protos as its image makes it."""
    folder = tmp_path_factory.mktemp("client")
    protos = sorted((ROOT / "proto").rglob("*.proto"))
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}"]
    subprocess.run([*protoc, f"--python_out={folder}", f"--grpc_python_out={folder}", *protos], check=True)
    return folder


@pytest.fixture
def start():
    """Starts processes that do not outlive the test."""
    started = []

    def start(*command, **variables):
        environment = {**os.environ, **variables}
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def start_agent(start, client, tmp_path):
    """Starts the agent, for the socket of the test."""
    script = ROOT / "deploy/agent/agent.py"
    return lambda: start(sys.executable, script, f"unix://{tmp_path}/booth.sock", PYTHONPATH=str(client))


def start_booth(start, pod, program, folder):
    """Starts the booth by the flags of the pod, with its places moved to a folder, and gives back what it says."""
    mount(pod.contracts, folder / "contracts")
    places = {
        "tools": folder / "contracts",
        "socket": folder / "booth.sock",
        "diagnostics": "127.0.0.1:0",
        "state": folder / "state",
    }
    flags = (f"--{name}={value}" for name, value in {**pod.flags, **places}.items())
    booth = start(program, "serve", *flags, TOOLBOOTH_LOG="warn")
    said = []
    for line in booth.stdout:
        said.append(line.rstrip())
        if line.startswith("stop with"):
            break
    return booth, said


def test_the_agent_plays_its_run_with_the_booth_and_the_booth_leaves_nothing_behind(pod, program, start, start_agent, tmp_path):
    booth, said = start_booth(start, pod, program, tmp_path)
    path = tmp_path / "booth.sock"
    assert f"listening on unix://{path}" in said
    assert f"tools: {len(pod.contracts['data'])} served, 0 quarantined" in said
    [diagnostics] = [line.removeprefix("diagnostics on ") for line in said if line.startswith("diagnostics on ")]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        url = diagnostics + pod.booth[probe]["httpGet"]["path"]
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200, url
    assert stat.S_IMODE(path.stat().st_mode) == 0o660

    agent = start_agent()
    said, _ = agent.communicate(timeout=30)
    assert agent.returncode == 0, said
    refused, executed = said.split("executed add: 42\n")
    assert refused.startswith('add: error: Validation failed for tool "add":\n  - a: expected number, got string\n')
    assert executed == "add: ok: 42\nsubmit_sum: ok: Result accepted.\nthe run has ended\n"

    booth.send_signal(signal.SIGTERM)
    assert booth.wait(timeout=30) == 0
    assert not path.exists()


def test_what_was_accepted_survives_a_restart_of_the_booth(pod, program, start, start_agent, tmp_path):
    booth, _ = start_booth(start, pod, program, tmp_path)
    agent = start_agent()
    said, _ = agent.communicate(timeout=30)
    assert agent.returncode == 0, said
    # As when its memory was over the limit.
    booth.kill()
    booth.wait(timeout=30)
    command = [program, "submissions", "--state", tmp_path / "state", "--jsonl"]
    accepted = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    [submission] = [json.loads(line) for line in accepted.splitlines()]
    assert (submission["tool"], submission["arguments"]) == ("submit_sum", {"sum": 42})


def test_the_agent_hears_sigterm_as_the_first_process_of_a_container_must(start_agent, tmp_path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "booth.sock"))
        silent.listen()
        silent.settimeout(30)
        agent = start_agent()
        connection, _ = silent.accept()
        with connection:
            agent.send_signal(signal.SIGTERM)
            assert agent.wait(timeout=30) == 128 + signal.SIGTERM
