"""Holds the rendered pod against what Kubernetes, restricted Pod Security, and the booth itself ask for. Offline, but real:
the booth is started by the pod's own flags, and the pod's agent plays its run with it.
"""

import copy
import faulthandler
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from decimal import Decimal
from pathlib import Path, PurePosixPath

import kubernetes_validate
from pod import ROOT, flags, mount, named, one, render

KUBERNETES = "1.37"
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|Ki|Mi|Gi)?")
FACTOR = {"m": Decimal("0.001"), "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, None: 1}


def quantity(text):
    """The number behind a Kubernetes quantity. The schemas let any text pass."""
    match = QUANTITY.fullmatch(text)
    assert match, f"`{text}` is no quantity"
    return Decimal(match[1]) * FACTOR[match[2]]


def setUpModule():
    """Renders once. A test that hangs ends with a traceback, and not never."""
    global BOOTH, DOCUMENTS
    faulthandler.dump_traceback_later(120, exit=True)
    unittest.addModuleCleanup(faulthandler.cancel_dump_traceback_later)
    BOOTH = os.environ.get("TOOLBOOTH_BIN", "")
    if not os.access(BOOTH, os.X_OK):
        raise RuntimeError(f"TOOLBOOTH_BIN is `{BOOTH}`, and not a toolbooth that runs: `make deploy-check` sets it")
    DOCUMENTS = render()


class Pod(unittest.TestCase):
    """The parts of the pod."""

    def setUp(self):
        self.contracts = one(DOCUMENTS, "ConfigMap")
        self.pod = one(DOCUMENTS, "Pod")
        self.spec = self.pod["spec"]
        [self.booth], [self.agent] = self.spec["initContainers"], self.spec["containers"]
        self.flags = flags(self.booth)

    def mounted(self, container, path):
        """The volume that a container has at a path, and how it is mounted."""
        [volume_mount] = [one for one in container["volumeMounts"] if one["mountPath"] == str(path)]
        return named(self.spec["volumes"], volume_mount["name"]), volume_mount


class Rendered(Pod):
    """What can be read off the manifest."""

    def test_every_document_satisfies_the_schemas_of_kubernetes_and_a_misspelt_key_does_not(self):
        for document in DOCUMENTS:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        misspelt = copy.deepcopy(self.pod)
        misspelt["spec"]["initContainers"][0]["restartpolicy"] = "Always"
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(misspelt, KUBERNETES, strict=True)

    def test_the_booth_is_a_native_sidecar_and_outlives_the_agent(self):
        self.assertEqual(self.booth["name"], "toolbooth")
        self.assertEqual(self.booth["restartPolicy"], "Always")
        self.assertEqual(self.spec["restartPolicy"], "Never")
        self.assertNotIn("lifecycle", self.booth, "a preStop hook runs before the agent has ended")

    def test_the_kubelet_waits_longer_than_the_booth_drains(self):
        grace = re.fullmatch(r"(\d+)s", self.flags["grace"])
        self.assertLess(int(grace[1]), self.spec["terminationGracePeriodSeconds"])

    def test_probes_ask_the_diagnostics_port_and_liveness_asks_for_life_only(self):
        host, port = self.flags["diagnostics"].rsplit(":", 1)
        self.assertEqual(host, "0.0.0.0", "the kubelet dials the pod's address")
        [declared] = self.booth["ports"]
        self.assertEqual(declared, {"name": "diagnostics", "containerPort": int(port)})
        paths = {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}
        for probe, path in paths.items():
            self.assertEqual(self.booth[probe]["httpGet"], {"path": path, "port": "diagnostics"}, probe)

    def test_booth_and_agent_meet_at_one_socket_in_memory(self):
        path = PurePosixPath(self.flags["socket"])
        self.assertEqual(self.agent["args"], [f"unix://{path}"])
        volume, of_booth = self.mounted(self.booth, path.parent)
        self.assertEqual(volume["emptyDir"], {"medium": "Memory", "sizeLimit": "1Mi"})
        same, of_agent = self.mounted(self.agent, path.parent)
        self.assertEqual(same, volume)
        self.assertNotIn("readOnly", of_booth)
        self.assertIs(of_agent["readOnly"], True)

    def test_the_group_of_the_folder_is_what_lets_the_agent_in(self):
        users = [container["securityContext"] for container in (self.booth, self.agent)]
        self.assertNotEqual(users[0]["runAsUser"], users[1]["runAsUser"])
        self.assertNotEqual(users[0]["runAsGroup"], users[1]["runAsGroup"])
        self.assertGreater(self.spec["securityContext"]["fsGroup"], 0)
        self.assertEqual(self.flags["socket-mode"], "0660")

    def test_restricted_pod_security_holds_for_every_container(self):
        self.assertIs(self.spec["automountServiceAccountToken"], False)
        of_pod = self.spec["securityContext"]
        self.assertIs(of_pod["runAsNonRoot"], True)
        self.assertEqual(of_pod["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertEqual(self.booth["securityContext"]["runAsUser"], 65532)
        for container in (self.booth, self.agent):
            context = container["securityContext"]
            self.assertIs(context["allowPrivilegeEscalation"], False)
            self.assertIs(context["readOnlyRootFilesystem"], True)
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            loosened = context.keys() & {"privileged", "procMount", "runAsNonRoot", "seccompProfile"}
            self.assertEqual(loosened, set(), "what the pod says must not be taken back")
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            self.assertNotIn(key, self.spec)
        self.assertEqual({next(iter(volume.keys() - {"name"})) for volume in self.spec["volumes"]}, {"emptyDir", "configMap"})

    def test_the_images_run_as_the_users_that_the_pod_names(self):
        for container, dockerfile in ((self.booth, "deploy/Dockerfile"), (self.agent, "deploy/agent/Dockerfile")):
            context = container["securityContext"]
            user = f"USER {context['runAsUser']}:{context['runAsGroup']}"
            self.assertIn(user, (ROOT / dockerfile).read_text().splitlines())

    def test_resources_are_quantities_and_the_cpu_has_no_limit(self):
        self.assertEqual(self.booth["resources"], {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}})
        for container in (self.booth, self.agent):
            requests, limits = container["resources"]["requests"], container["resources"]["limits"]
            self.assertEqual(limits.keys(), {"memory"})
            self.assertLessEqual(quantity(requests["memory"]), quantity(limits["memory"]))
            self.assertLess(quantity(requests["cpu"]), 1)

    def test_the_images_have_the_version_of_the_booth(self):
        version = subprocess.run([BOOTH, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
        self.assertEqual(self.booth["image"], f"localhost/toolbooth:{version}")
        self.assertEqual(self.agent["image"], f"localhost/toolbooth-agent:{version}")

    def test_the_contracts_are_mounted_as_a_folder_and_none_is_left_out(self):
        volume, volume_mount = self.mounted(self.booth, self.flags["tools"])
        self.assertEqual(volume["configMap"], {"name": self.contracts["metadata"]["name"]})
        self.assertEqual(volume_mount.keys(), {"name", "mountPath", "readOnly"}, "a subPath is never updated")
        files = {path.name for path in (ROOT / "deploy/pod/contracts").iterdir()}
        self.assertEqual(self.contracts["data"].keys(), files, "configMapGenerator lists each file")

    def test_the_booth_finds_nothing_to_remark_on_the_contracts(self):
        with tempfile.TemporaryDirectory() as folder:
            mount(self.contracts, Path(folder) / "contracts")
            check = subprocess.run([BOOTH, "check", f"{folder}/contracts"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)
        self.assertIn(f"{len(self.contracts['data'])} tools serve: 0 errors, 0 warnings", check.stdout)


class Played(Pod):
    """What runs: the booth by the flags of the pod, in a folder of the test's own, and the agent beside it."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.socket = self.folder / "booth.sock"
        protos = sorted(str(path) for path in (ROOT / "proto").rglob("*.proto"))
        protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}"]
        subprocess.run([*protoc, f"--python_out={folder.name}", f"--grpc_python_out={folder.name}", *protos], check=True)

    def start(self, *command, **options):
        """Starts a process that does not outlive the test."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_agent(self):
        script = ROOT / "deploy/agent/agent.py"
        return self.start(sys.executable, script, f"unix://{self.socket}", env={**os.environ, "PYTHONPATH": self.folder})

    def start_booth(self):
        """Starts the booth, and says where its diagnostics are."""
        mount(self.contracts, self.folder / "contracts")
        here = {"tools": self.folder / "contracts", "socket": self.socket, "diagnostics": "127.0.0.1:0"}
        arguments = (f"--{name}={value}" for name, value in {**self.flags, **here}.items())
        process = self.start(BOOTH, "serve", *arguments, env={**os.environ, "TOOLBOOTH_LOG": "warn"})
        said = []
        for line in process.stdout:
            said.append(line.rstrip())
            if line.startswith("stop with"):
                break
        self.assertIn(f"listening on unix://{self.socket}", said)
        self.assertIn(f"tools: {len(self.contracts['data'])} served, 0 quarantined", said)
        [diagnostics] = [line.removeprefix("diagnostics on ") for line in said if line.startswith("diagnostics on ")]
        return process, diagnostics

    def test_the_agent_plays_its_run_with_the_booth_and_the_booth_ends_with_nothing_left(self):
        booth, diagnostics = self.start_booth()
        for container_probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = self.booth[container_probe]["httpGet"]["path"]
            with urllib.request.urlopen(diagnostics + path, timeout=10) as answer:
                self.assertEqual(answer.status, 200, path)
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o660)

        agent = self.start_agent()
        said, _ = agent.communicate(timeout=60)
        self.assertEqual(agent.returncode, 0, said)
        refused, executed = said.split("executed add: 42\n")
        self.assertTrue(refused.startswith('add: error: Validation failed for tool "add":\n  - a: expected number, got string\n'))
        self.assertEqual(executed, "add: ok: 42\nsubmit_sum: ok: Result accepted.\nthe run has ended\n")

        booth.send_signal(signal.SIGTERM)
        self.assertEqual(booth.wait(timeout=30), 0)
        self.assertFalse(self.socket.exists())

    def test_the_agent_hears_sigterm_as_the_first_process_of_a_container_must(self):
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(self.socket))
            silent.listen()
            agent = self.start_agent()
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                agent.send_signal(signal.SIGTERM)
                self.assertEqual(agent.wait(timeout=30), 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
