"""Plays the pod of `deploy/pod` with podman, as near to a kubelet as it comes, and says what only a kubelet can show.

It wants root, podman, and the two images. `make pod` runs it.
"""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from pod import flags, mount, named, one, render

NOT_SHOWN = """\
not shown here, because it takes a kubelet:
  - the native sidecar: podman has none, so the booth is a plain container, and this script starts and ends it in order
  - the probes: this script asked /readyz and /livez once, from within the pod's network
  - fsGroup and emptyDir: a folder of this machine with the same group and mode, and that group given to both containers
  - the ConfigMap as a volume: the same layout of links, in a folder of this machine
  - the seccomp profile: podman puts containers under its own default, whatever the pod says
  - Pod Security admission, image pulls, eviction, and NetworkPolicy
"""


def podman(*arguments):
    """Runs podman, and gives back what it printed."""
    return subprocess.run(["podman", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def for_podman(documents, folder):
    """The pod with what podman cannot do put another way: see NOT_SHOWN."""
    pod = one(documents, "Pod")
    spec = pod["spec"]
    [booth] = spec.pop("initContainers")
    for key in ("restartPolicy", "startupProbe", "readinessProbe", "livenessProbe", "ports"):
        del booth[key]
    spec["containers"].insert(0, booth)

    group = spec["securityContext"].pop("fsGroup")
    spec["securityContext"]["supplementalGroups"] = [group]
    shared = folder / "socket"
    shared.mkdir()
    os.chown(shared, 0, group)
    shared.chmod(0o2777)
    mount(one(documents, "ConfigMap"), folder / "contracts")
    state = folder / "state"
    state.mkdir()
    state.chmod(0o777)
    for name in ("socket", "contracts", "state"):
        volume = named(spec["volumes"], name)
        volume.clear()
        volume.update(name=name, hostPath={"path": str(folder / name), "type": "Directory"})
    return pod


def shows(what, holds):
    """Prints what was looked at, and ends the trial where it does not hold."""
    print(f"{'ok' if holds else 'NOT SO'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def wait_until_serving(container, socket):
    """What the startup probe does: asks until the booth serves, and at most for 30 s."""
    deadline = time.monotonic() + 30
    probe = ["podman", "exec", container, "/toolbooth", "probe", "--to", f"unix://{socket}"]
    while subprocess.run(probe, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout != "serving\n":
        if time.monotonic() > deadline:
            sys.exit(f"{container} does not serve after 30 s:\n{podman('logs', container)}")


def confined(container, user, group):
    """Whether the process of a container has just this user, the shared group, and nothing more to gain."""
    process = podman("inspect", "--format", "{{.State.Pid}}", container)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    [root] = [line.split() for line in Path(f"/proc/{process}/mounts").read_text().splitlines() if line.split()[1] == "/"]
    return (
        status["Uid"].split() == [str(user)] * 4
        and str(group) in status["Groups"].split()
        and int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
        and status["NoNewPrivs"] == "1"
        and "ro" in root[3].split(",")
    )


def ask(container, url):
    """The status of an HTTP answer, asked from within the pod's network."""
    process = podman("inspect", "--format", "{{.State.Pid}}", container)
    script = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=10).status)"
    entered = ["nsenter", "--target", process, "--net", sys.executable, "-c", script]
    return subprocess.run(entered, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def play(pod, folder):
    """Starts the booth, then the agent; looks; and ends the booth."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    booth, agent = (f"{name}-{container['name']}" for container in spec["containers"])
    flag = flags(spec["containers"][0])
    socket = folder / "socket" / Path(flag["socket"]).name

    podman("start", booth)
    wait_until_serving(booth, flag["socket"])
    shows("the booth serves: `toolbooth probe` in its container", True)
    [group] = spec["securityContext"]["supplementalGroups"]
    user = spec["containers"][0]["securityContext"]["runAsUser"]
    shows(f"it runs as {user}, without capabilities or a way to more, on a read-only root", confined(booth, user, group))
    about = socket.stat()
    shows(f"the socket has mode 0660 and group {group}", (stat.S_IMODE(about.st_mode), about.st_gid) == (0o660, group))
    port = flag["diagnostics"].rsplit(":", 1)[1]
    for path in ("/readyz", "/livez"):
        shows(f"{path} answers 200", ask(booth, f"http://127.0.0.1:{port}{path}") == "200")

    podman("start", agent)
    code = podman("wait", agent)
    said = podman("logs", agent)
    print("".join(f"  | {line}\n" for line in said.splitlines()), end="")
    shows(
        "the agent, another user, played its run over the socket and ended with 0",
        code == "0" and said.endswith("the run has ended"),
    )

    podman("kill", "--signal", signal.SIGTERM.name, booth)
    shows("the booth ended with 0 after SIGTERM", podman("wait", booth) == "0")
    shows("it left no socket behind", not socket.exists())


def main():
    """The trial, from the manifest to an empty machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The containers' users reach the volumes through it.
        folder.chmod(0o755)
        pod = for_podman(render(), folder)
        manifest = folder / "pod.yaml"
        manifest.write_text(yaml.safe_dump(pod))
        podman("kube", "play", "--network", "none", "--start=false", str(manifest))
        try:
            play(pod, folder)
        finally:
            podman("pod", "rm", "--force", pod["metadata"]["name"])
    print(NOT_SHOWN, end="")


main()
