"""Which Kubernetes the local control plane is of, and what that changes in its command lines."""

import re
from pathlib import Path

import pytest

from tools.controlplane import builds, components, errors
from tools.controlplane.options import Options

DIRECTORIES = sorted(builds.MODULES.glob("kubernetes*"))
REPLACED = re.compile(r"^\s+(k8s\.io/\S+) => (\S+) v0\.(\S+)$", re.MULTILINE)


def arguments(*, native_gangs: bool) -> list[str]:
    site = components.Site(Path("/nowhere"), Options(native_gangs=native_gangs))
    return components.arguments("kube-apiserver", site)


@pytest.mark.parametrize("minor", ["1.34", "1.35", "1.36", "1.37"])
def test_a_minor_version_is_chosen_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, minor: str
) -> None:
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", minor)

    assert builds.pinned_version("kube-apiserver").startswith(f"v{minor}.")
    assert builds.cached_path("kubectl").name.startswith(f"kubectl-v{minor}.")
    assert minor == builds.minor_of_kubernetes()


@pytest.mark.parametrize("chosen", ["", "1.37"])
def test_the_newest_is_the_default(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", chosen)

    assert builds.MODULES / "kubernetes" == builds.directory("kube-apiserver")


def test_what_is_not_kubernetes_has_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = builds.pinned_version("etcd")
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", "1.34")

    assert before == builds.pinned_version("etcd")


def test_a_version_that_nothing_builds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", "1.9")

    with pytest.raises(errors.ControlPlaneError, match=r"choose from 1\.34, 1\.35, 1\.36, 1\.37"):
        builds.pinned_version("kube-apiserver")


@pytest.mark.parametrize("module", DIRECTORIES, ids=lambda path: path.name)
def test_all_modules_of_kubernetes_are_of_its_version(module: Path) -> None:
    text = (module / "go.mod").read_text()
    (version,) = re.findall(r"^require k8s\.io/kubernetes v1\.(\S+)$", text, re.MULTILINE)
    replaced = REPLACED.findall(text)

    assert replaced
    assert all((name, version) == (by, minor) for name, by, minor in replaced)


@pytest.mark.parametrize(("minor", "served"), [("1.36", "v1alpha2"), ("1.37", "v1beta1")])
def test_native_pod_groups_are_served_as_the_version_has_them(
    monkeypatch: pytest.MonkeyPatch, minor: str, served: str
) -> None:
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", minor)

    assert f"--runtime-config=scheduling.k8s.io/{served}=true" in arguments(native_gangs=True)


def test_before_there_were_native_pod_groups_they_cannot_be_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTROLPLANE_KUBERNETES", "1.35")

    assert not [each for each in arguments(native_gangs=False) if "scheduling.k8s.io" in each]
    with pytest.raises(errors.ControlPlaneError, match=r"Kubernetes 1\.35 has no PodGroups"):
        arguments(native_gangs=True)
