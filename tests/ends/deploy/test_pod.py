"""What can be read off the rendered pod, offline: held against Kubernetes, restricted Pod Security, and the booth."""

import copy
import re
import subprocess
from decimal import Decimal
from pathlib import PurePosixPath

import kubernetes_validate
import pytest
from pod import ROOT, mount

KUBERNETES = "1.37"
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|Ki|Mi|Gi)?")
FACTOR = {"m": Decimal("0.001"), "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, None: 1}


def quantity(text):
    """The number behind a Kubernetes quantity. The schemas let any text pass."""
    match = QUANTITY.fullmatch(text)
    assert match, f"`{text}` is no quantity"
    return Decimal(match[1]) * FACTOR[match[2]]


def test_every_document_satisfies_the_schemas_of_kubernetes_and_a_misspelt_key_does_not(pod):
    for document in pod.documents:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    misspelt = copy.deepcopy(pod.pod)
    misspelt["spec"]["initContainers"][0]["restartpolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError, match="restartpolicy"):
        kubernetes_validate.validate(misspelt, KUBERNETES, strict=True)


def test_the_booth_is_a_native_sidecar_and_outlives_the_agent(pod):
    assert pod.booth["name"] == "toolbooth"
    assert pod.booth["restartPolicy"] == "Always"
    assert pod.spec["restartPolicy"] == "Never"
    assert "lifecycle" not in pod.booth, "a preStop hook runs before the agent has ended"


def test_the_kubelet_waits_longer_than_the_booth_drains(pod):
    grace = re.fullmatch(r"(\d+)s", pod.flags["grace"])
    assert int(grace[1]) < pod.spec["terminationGracePeriodSeconds"]


def test_probes_ask_the_diagnostics_port_and_liveness_asks_for_life_only(pod):
    host, port = pod.flags["diagnostics"].rsplit(":", 1)
    assert host == "0.0.0.0", "the kubelet dials the pod's address"
    assert pod.booth["ports"] == [{"name": "diagnostics", "containerPort": int(port)}]
    paths = {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}
    for probe, path in paths.items():
        assert pod.booth[probe]["httpGet"] == {"path": path, "port": "diagnostics"}, probe


def test_booth_and_agent_meet_at_one_socket_in_memory(pod):
    path = PurePosixPath(pod.flags["socket"])
    assert pod.agent["args"] == [f"unix://{path}"]
    volume, of_booth = pod.mounted(pod.booth, path.parent)
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
    same, of_agent = pod.mounted(pod.agent, path.parent)
    assert same == volume
    assert "readOnly" not in of_booth
    assert of_agent["readOnly"] is True


def test_what_was_accepted_is_kept_on_disk_and_out_of_the_agents_reach(pod):
    volume, of_booth = pod.mounted(pod.booth, pod.flags["state"])
    assert volume["emptyDir"] == {"sizeLimit": "64Mi"}
    assert "readOnly" not in of_booth
    assert volume["name"] not in {mounted["name"] for mounted in pod.agent["volumeMounts"]}


def test_the_group_of_the_folder_is_what_lets_the_agent_in(pod):
    booth, agent = pod.booth["securityContext"], pod.agent["securityContext"]
    assert booth["runAsUser"] != agent["runAsUser"]
    assert booth["runAsGroup"] != agent["runAsGroup"]
    assert pod.spec["securityContext"]["fsGroup"] > 0
    assert pod.flags["socket-mode"] == "0660"


def test_restricted_pod_security_holds_for_every_container(pod):
    assert pod.spec["automountServiceAccountToken"] is False
    assert pod.spec["securityContext"]["runAsNonRoot"] is True
    assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod.booth["securityContext"]["runAsUser"] == 65532
    for container in (pod.booth, pod.agent):
        context = container["securityContext"]
        assert context["runAsUser"] > 0
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        loosened = context.keys() & {"privileged", "procMount", "runAsNonRoot", "seccompProfile"}
        assert not loosened, "what the pod says must not be taken back"
    assert not pod.spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    kinds = {kind for volume in pod.spec["volumes"] for kind in volume.keys() - {"name"}}
    assert kinds == {"emptyDir", "configMap"}


def test_the_images_run_as_the_users_that_the_pod_names(pod):
    for container, dockerfile in ((pod.booth, "deploy/Dockerfile"), (pod.agent, "deploy/agent/Dockerfile")):
        context = container["securityContext"]
        user = f"USER {context['runAsUser']}:{context['runAsGroup']}"
        assert user in (ROOT / dockerfile).read_text().splitlines()


def test_resources_are_quantities_and_the_cpu_has_no_limit(pod):
    assert pod.booth["resources"] == {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}}
    for container in (pod.booth, pod.agent):
        requests, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert limits.keys() == {"memory"}
        assert quantity(requests["memory"]) <= quantity(limits["memory"])
        assert quantity(requests["cpu"]) < 1


def test_the_images_have_the_version_of_the_booth(pod, program):
    said = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    version = said.split()[-1]
    assert pod.booth["image"] == f"localhost/toolbooth:{version}"
    assert pod.agent["image"] == f"localhost/toolbooth-agent:{version}"


def test_the_contracts_are_mounted_as_a_folder_and_none_is_left_out(pod):
    volume, volume_mount = pod.mounted(pod.booth, pod.flags["tools"])
    assert volume["configMap"] == {"name": pod.contracts["metadata"]["name"]}
    assert volume_mount.keys() == {"name", "mountPath", "readOnly"}, "a subPath is never updated"
    files = {path.name for path in (ROOT / "deploy/pod/contracts").iterdir()}
    assert pod.contracts["data"].keys() == files, "configMapGenerator lists each file"


def test_the_booth_finds_nothing_to_remark_on_the_contracts(pod, program, tmp_path):
    mount(pod.contracts, tmp_path / "contracts")
    check = subprocess.run([program, "check", tmp_path / "contracts"], stdout=subprocess.PIPE, text=True)
    assert check.returncode == 0, check.stdout
    assert f"{len(pod.contracts['data'])} tools serve: 0 errors, 0 warnings" in check.stdout
