"""What helm makes of the chart, without a cluster. Skipped where helm would have to be built."""

import functools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gang_scheduler.settings import Settings
from tools.chart import CHART, schema
from tools.controlplane import binaries

Manifest = dict[str, Any]

IMAGE = "image.repository=registry.example.com/scheduler"

DIGEST = f"sha256:{'0' * 64}"

pytestmark = pytest.mark.skipif(not binaries.found("helm"), reason="make binaries BINARIES=helm")


def helm(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [binaries.find("helm"), *arguments],
        input=stdin,
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )


@functools.cache
def template(*values: str) -> subprocess.CompletedProcess[str]:
    """Return how `helm template` ends with these values set, and an image."""
    return helm("template", "gangs", str(CHART), *(f"--set={each}" for each in (IMAGE, *values)))


def rendered(*values: str) -> list[Manifest]:
    done = template(*values)
    assert 0 == done.returncode, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def only(kind: str, *values: str) -> Manifest:
    (found,) = (each for each in rendered(*values) if each["kind"] == kind)
    return found


def refusal(*values: str) -> str:
    done = template(*values)
    assert 0 != done.returncode
    return done.stderr


def notes(*values: str) -> str:
    flags = [f"--set={each}" for each in (IMAGE, *values)]
    done = helm("install", "gangs", str(CHART), "--dry-run=client", *flags)
    assert 0 == done.returncode, done.stderr
    return done.stdout.partition("\nNOTES:\n")[2]


def test_without_an_image_nothing_is_rendered_and_the_message_says_how_to_get_one() -> None:
    refused = helm("template", "gangs", str(CHART))

    assert 1 == refused.returncode
    assert "image.repository is required, because no image is published" in refused.stderr
    assert "docker build -t REGISTRY/py-gang-scheduler:0.1.0 ." in refused.stderr


def test_the_chart_passes_lint_as_it_is() -> None:
    assert 0 == helm("lint", "--strict", str(CHART)).returncode


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("replica=3", "'replica' not allowed"),
        ("image.tga=x", "'tga' not allowed"),
        ("image.repository=scheduler:1", "/image/repository"),
        ("image.digest=0123", "/image/digest"),
        ("resources.limit.cpu=1", "'limit' not allowed"),
        ("imagePullSecrets={registry}", "/imagePullSecrets/0"),
        ("crds.install=true", "/crds/install': value must be one of 'auto', 'always', 'never'"),
        ("settings.preemtion=false", "'preemtion' not allowed"),
        (
            "settings.strategy=tight",
            "/settings/strategy': value must be one of 'binpack', 'spread'",
        ),
        ("settings.bindConcurrency=0", "/settings/bindConcurrency': minimum: got 0, want 1"),
        ("settings.scheduleTimeoutSeconds=0", "/settings/scheduleTimeoutSeconds"),
        ("settings.maxVictims=few", "/settings/maxVictims': got string, want integer"),
        ("settings.schedulerNames=mine", "/settings/schedulerNames': got string, want array"),
        ("settings.logLevel=loud", "/settings/logLevel': value must be one of 'debug', 'info'"),
        ("settings.httpPort=80", "'httpPort' not allowed"),
        ("extraEnv[0].name=PGS_MAX_VICTIMS", "set settings.maxVictims instead"),
        ("metrics.service.enabled=false,metrics.serviceMonitor.enabled=true", "needs metrics.serv"),
    ],
)
def test_a_wrong_value_is_refused_by_name(value: str, words: str) -> None:
    assert words in refusal(value)


@pytest.mark.parametrize("value", ["settings.leaderElect=false"])
def test_several_replicas_without_a_lease_are_refused(value: str) -> None:
    assert "settings.leaderElect=false with replicas=2: " in refusal(value)
    alone = only("Deployment", value, "replicas=1")["spec"]
    assert (1, "Recreate") == (alone["replicas"], alone["strategy"]["type"])
    assert "RollingUpdate" == only("Deployment")["spec"]["strategy"]["type"]


def test_every_setting_arrives_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = schema.values_schema()["properties"]["settings"]["properties"]
    defaults = {name: each["default"] for name, each in properties.items()}
    given = {**defaults, "protectionLabelNamespaces": ["a", "b"], "strategy": "spread"}
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"settings": given}))
    done = helm("template", "gangs", str(CHART), f"--set={IMAGE}", f"--values={file}")
    documents = yaml.safe_load_all(done.stdout)
    (deployment,) = (each for each in documents if each["kind"] == "Deployment")
    for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]:
        monkeypatch.setenv(each["name"], each.get("value", "the namespace of the pod"))

    fixed = {"PGS_LEASE_NAME", "PGS_LEASE_NAMESPACE"}
    expected = {f"PGS_{each.upper()}" for each in Settings.model_fields} - {"PGS_HTTP_PORT"}
    assert expected == {name for name in os.environ if name.startswith("PGS_")}
    assert fixed < expected
    assert (
        Settings(
            strategy=given["strategy"],
            protection_label_namespaces=("a", "b"),
            lease_name="gangs-py-gang-scheduler",
            lease_namespace="the namespace of the pod",
        )
        == Settings()
    )


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ((), "registry.example.com/scheduler:0.1.0"),
        (("image.tag=edge",), "registry.example.com/scheduler:edge"),
        (("image.tag=edge", f"image.digest={DIGEST}"), f"registry.example.com/scheduler@{DIGEST}"),
        (("image.repository=localhost:5000/a",), "localhost:5000/a:0.1.0"),
    ],
)
def test_a_digest_wins_over_a_tag_and_that_over_the_version(
    values: tuple[str, ...], image: str
) -> None:
    spec = only("Deployment", *values)["spec"]["template"]["spec"]

    assert image == spec["containers"][0]["image"]


def test_a_crd_of_a_shared_group_is_rendered_only_on_demand() -> None:
    def crds(*values: str) -> int:
        return sum(each["kind"] == "CustomResourceDefinition" for each in rendered(*values))

    assert [0, 2, 0] == [crds(), crds("crds.install=always"), crds("crds.install=never")]
    assert 2 == notes().count("Not rendered, because no cluster could be asked")
    assert "CRD" not in notes("crds.install=always").partition("Wait for it")[0]


def test_tenants_get_what_their_default_role_is_for() -> None:
    def verbs(role: str, resource: str) -> set[str]:
        label = f"rbac.authorization.k8s.io/aggregate-to-{role}"
        return {
            verb
            for each in rendered()
            if each["kind"] == "ClusterRole" and label in each["metadata"]["labels"]
            for rule in each["rules"]
            if resource in rule["resources"]
            for verb in rule["verbs"]
        }

    reading = {"get", "list", "watch"}
    writing = {"create", "update", "patch", "delete", "deletecollection"}
    roles = ("view", "edit", "admin")
    topologies = "clusternetworktopologies"
    assert [reading, reading | writing, reading | writing] == [
        verbs(role, "podgroups") for role in roles
    ]
    assert [reading] * 3 == [verbs(role, "podgroups/status") for role in roles]
    assert [reading] * 3 == [verbs(role, topologies) for role in roles]
    for value in ("rbac.create=false", "rbac.tenantRoles=false"):
        assert "aggregate-to" not in template(value).stdout


def test_the_notes_begin_with_the_image_that_must_be_there() -> None:
    first, image, advice, *_ = notes().splitlines()

    assert "is installed in namespace default." in first
    assert "Its image is registry.example.com/scheduler:0.1.0." == image
    assert advice.startswith("No image is published")


def test_the_job_of_the_notes_survives_an_eviction() -> None:
    (text,) = re.findall(r"<<EOF\n(.*?)\nEOF\n", notes(), re.DOTALL)
    group, job = yaml.safe_load_all(text)

    assert group["spec"]["minMember"] == job["spec"]["parallelism"]
    assert "Never" == job["spec"]["template"]["spec"]["restartPolicy"]
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    rules = [{"action": "Ignore", "onPodConditions": disrupted}]
    assert {"rules": rules} == job["spec"]["podFailurePolicy"]
