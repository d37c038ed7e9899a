"""The pod of `deploy/pod` as kubectl renders it, and the words by which the tests and the trial speak of its parts."""

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]


def render():
    """Renders the pod with the pinned kubectl, which stands beside this Python."""
    kubectl = Path(sys.executable).with_name("kubectl")
    rendered = subprocess.run([kubectl, "kustomize", ROOT / "deploy/pod"], check=True, stdout=subprocess.PIPE, text=True)
    return list(yaml.safe_load_all(rendered.stdout))


def one(documents, kind):
    """The one document of a kind."""
    [document] = [document for document in documents if document["kind"] == kind]
    return document


def named(items, name):
    """The one item of a list that has this name."""
    [item] = [item for item in items if item["name"] == name]
    return item


def flags(container):
    """The flags of `toolbooth serve` as the pod writes them: `--name=value`."""
    command, *rest = container["args"]
    assert command == "serve", command
    return dict(flag.removeprefix("--").split("=", 1) for flag in rest)


class Pod:
    """The parts of the rendered pod."""

    def __init__(self, documents):
        self.documents = documents
        self.contracts = one(documents, "ConfigMap")
        self.pod = one(documents, "Pod")
        self.spec = self.pod["spec"]
        [self.booth], [self.agent] = self.spec["initContainers"], self.spec["containers"]
        self.flags = flags(self.booth)

    def mounted(self, container, path):
        """The volume that a container has at a path, and how it is mounted."""
        [found] = [candidate for candidate in container["volumeMounts"] if candidate["mountPath"] == str(path)]
        return named(self.spec["volumes"], found["name"]), found


def mount(volume, folder):
    """Lays out a ConfigMap as the kubelet mounts it: links into a hidden folder that can be swapped at once."""
    version = folder / "..2026_01_01_00_00_00.1"
    version.mkdir(parents=True)
    (folder / "..data").symlink_to(version.name)
    for name, text in volume["data"].items():
        (version / name).write_text(text)
        (folder / name).symlink_to(f"..data/{name}")
