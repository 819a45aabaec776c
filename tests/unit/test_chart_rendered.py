"""What helm makes of the chart, without a cluster. Skipped where helm would have to be built."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gang_scheduler
from gang_scheduler.api import annotations
from gang_scheduler.cli.page import page_command
from gang_scheduler.inspection import cluster, live
from gang_scheduler.model.api_words import NodeStrategy
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.run import Settings
from gang_scheduler.workloads import table
from support import yaml_texts
from tools.chart import CHART, schema
from tools.controlplane import binaries

Manifest = dict[str, Any]

VERSION = gang_scheduler.__version__
IMAGE = "image.repository=registry.example.com/scheduler"
DIGEST = f"sha256:{'0' * 64}"
EVERYTHING = (
    "crds.install=always",
    "metrics.podMonitor.enabled=true",
    "alerts.enabled=true",
    "dashboards.enabled=true",
    "networkPolicy.enabled=true",
)

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
    return [each for each in yaml_texts.read_all(done.stdout) if each]


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


def pod_specs(*values: str) -> list[Manifest]:
    deployment, test = only("Deployment", *values), only("Pod", *values)
    return [deployment["spec"]["template"]["spec"], test["spec"]]


def selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_without_an_image_nothing_is_rendered_and_the_message_says_how_to_get_one() -> None:
    refused = helm("template", "gangs", str(CHART))

    assert 1 == refused.returncode
    assert "image.repository is required, because no image is published" in refused.stderr
    assert f"make image IMAGE=REGISTRY/py-gang-scheduler:{VERSION}" in refused.stderr


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
        ("metrics.podMonitor.enable=true", "'enable' not allowed"),
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
        ("metrics.podMonitor.enabled=true,metrics.serviceMonitor.enabled=true", "choose one"),
    ],
)
def test_a_wrong_value_is_refused_by_name(value: str, words: str) -> None:
    assert words in refusal(value)


@pytest.mark.parametrize("value", ["settings.leaderElect=false", "extraArgs={--no-leader-elect}"])
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
    file.write_text(yaml_texts.written({"settings": given}))
    done = helm("template", "gangs", str(CHART), f"--set={IMAGE}", f"--values={file}")
    documents = yaml_texts.read_all(done.stdout)
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
        ((), f"registry.example.com/scheduler:{VERSION}"),
        (("image.tag=edge",), "registry.example.com/scheduler:edge"),
        (("image.tag=edge", f"image.digest={DIGEST}"), f"registry.example.com/scheduler@{DIGEST}"),
        (("image.repository=localhost:5000/a",), f"localhost:5000/a:{VERSION}"),
    ],
)
def test_a_digest_wins_over_a_tag_and_that_over_the_version(
    values: tuple[str, ...], image: str
) -> None:
    images = {each["containers"][0]["image"] for each in pod_specs(*values)}

    assert {image} == images


def test_pods_get_what_the_user_adds() -> None:
    added = ("imagePullSecrets[0].name=s", "extraArgs={--source=reflector}", "extraEnv[0].name=A")
    scheduler, test = pod_specs(*added)

    assert [{"name": "s"}] == scheduler["imagePullSecrets"] == test["imagePullSecrets"]
    assert ["--source=reflector"] == scheduler["containers"][0]["args"]
    assert {"name": "A"} == scheduler["containers"][0]["env"][-1]


def test_pods_pass_the_restricted_level_and_see_no_services() -> None:
    for spec in pod_specs():
        assert spec["securityContext"]["runAsNonRoot"]
        assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
        assert spec["enableServiceLinks"] is False
        assert {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        } == spec["containers"][0]["securityContext"]


def test_the_user_of_pods_is_left_to_a_cluster_that_chooses_it() -> None:
    """As OpenShift does, whose users are other ones in each namespace."""
    for spec in pod_specs(
        "podSecurityContext.runAsUser=null", "podSecurityContext.runAsGroup=null"
    ):
        assert {"runAsNonRoot", "seccompProfile"} == {*spec["securityContext"]}
    for spec in pod_specs("podSecurityContext.runAsUser=1000650000"):
        assert 1000650000 == spec["securityContext"]["runAsUser"]
    assert "runAsUser" in refusal("podSecurityContext.runAsUser=0")
    assert "runAsNonRoot" in refusal("podSecurityContext.runAsNonRoot=false")


def test_the_times_of_the_lease_are_refused_that_the_scheduler_refuses() -> None:
    names = ("leaseDurationSeconds", "renewDeadlineSeconds", "retryPeriodSeconds")
    for given in (
        (5, None, None),
        (None, 10, None),
        (9, 9, None),
        (None, None, 3),
        (None, 2, None),
        (5, 4, 1),
        (60, 40, 10),
        (60, 40, 14),
        (600, None, None),
        (9, 8, 2),
    ):
        values = dict(zip(names, given, strict=True))
        kept = {name: value for name, value in values.items() if value is not None}
        told = template(*(f"settings.{name}={value}" for name, value in kept.items()))
        try:
            Settings.model_validate(
                {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", k): v for k, v in kept.items()}
            )
        except ValueError:
            assert "settings.re" in told.stderr, given
            assert 0 != told.returncode
        else:
            assert 0 == told.returncode, (given, told.stderr)


def test_labels_and_annotations_of_the_user_are_on_every_object() -> None:
    added = ("commonLabels.team=a", "commonAnnotations.cost=b")
    every = rendered(*EVERYTHING, *added)
    metadata = [each["metadata"] for each in every]
    metadata.append(only("Deployment", *EVERYTHING, *added)["spec"]["template"]["metadata"])

    assert {"NetworkPolicy", "PodMonitor", "Pod"} < {each["kind"] for each in every}
    assert {"a"} == {each["labels"]["team"] for each in metadata}
    assert {"b"} == {each["annotations"]["cost"] for each in metadata}


@pytest.mark.parametrize("of", ["commonLabels", "podLabels"])
def test_labels_of_the_user_take_the_place_of_none_of_the_chart(of: str) -> None:
    value = f"{of}.app\\.kubernetes\\.io/name=mine"
    spec = only("Deployment", value)["spec"]

    assert selects(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"])


def test_the_pod_of_helm_test_is_none_of_the_scheduler() -> None:
    labels = only("Pod", *EVERYTHING)["metadata"]["labels"]
    every = rendered(*EVERYTHING)
    selectors = [each["spec"]["selector"] for each in every if "selector" in each.get("spec", {})]

    assert 4 == len(selectors)
    assert not [each for each in selectors if selects(each.get("matchLabels", each), labels)]


def test_a_crd_of_a_shared_group_is_rendered_only_on_demand() -> None:
    def crds(*values: str) -> int:
        return sum(each["kind"] == "CustomResourceDefinition" for each in rendered(*values))

    assert [0, 4, 0] == [crds(), crds("crds.install=always"), crds("crds.install=never")]
    assert 4 == notes().count("Not rendered, because no cluster could be asked")
    assert "CRD" not in notes("crds.install=always").partition("Wait for it")[0]


def test_a_network_policy_allows_the_api_server_and_our_port_alone() -> None:
    assert not [each for each in rendered() if each["kind"] == "NetworkPolicy"]
    open_to_all = only("NetworkPolicy", "networkPolicy.enabled=true")["spec"]
    (egress,), (ingress,) = open_to_all["egress"], open_to_all["ingress"]
    labels = only("Deployment")["spec"]["template"]["metadata"]["labels"]

    assert selects(open_to_all["podSelector"]["matchLabels"], labels)
    assert ["Ingress", "Egress"] == open_to_all["policyTypes"]
    assert {"ports": [{"port": p, "protocol": "TCP"} for p in (443, 6443)]} == egress
    assert {"ports": [{"port": "http", "protocol": "TCP"}]} == ingress


def test_a_network_policy_opens_the_ports_of_pods_for_a_setting_alone() -> None:
    values = ("networkPolicy.enabled=true", "settings.checkpointHttp=true")
    _, to_pods = only("NetworkPolicy", *values)["spec"]["egress"]

    assert {
        "to": [{"namespaceSelector": {}}],
        "ports": [{"port": 1024, "endPort": 65535, "protocol": "TCP"}],
    } == to_pods


def test_jobs_that_report_checkpoints_may_patch_what_they_report_on() -> None:
    names = {each["metadata"]["name"]: each for each in rendered() if each["kind"] == "ClusterRole"}
    (found,) = (each for name, each in names.items() if name.endswith(":checkpointer"))

    granted = {
        (kind, verb) for r in found["rules"] for kind in r["resources"] for verb in r["verbs"]
    }
    assert {(k, v) for k in ("pods", "podgroups") for v in ("get", "patch")} == granted
    # The owner of a namespace binds it there; it is part of no other role.
    assert not [key for key in found["metadata"]["labels"] if "aggregate" in key]


def test_a_network_policy_can_be_narrowed_and_lets_helm_test_through() -> None:
    values = ("apiServerCidrs={10.0.0.1/32}", "ingressFrom[0].podSelector.matchLabels.a=b")
    extra = "extraEgress[0].ports[0].port=53"
    policy = only(
        "NetworkPolicy", *(f"networkPolicy.{each}" for each in ("enabled=true", *values, extra))
    )["spec"]
    scraper, test = (each["podSelector"]["matchLabels"] for each in policy["ingress"][0]["from"])

    assert [{"ipBlock": {"cidr": "10.0.0.1/32"}}] == policy["egress"][0]["to"]
    assert {"ports": [{"port": 53}]} == policy["egress"][1]
    assert {"a": "b"} == scraper
    assert selects(test, only("Pod")["metadata"]["labels"])


def test_a_pod_monitor_needs_no_service() -> None:
    values = ("service.enabled=false", "podMonitor.enabled=true", "podMonitor.labels.a=b")
    monitor = only("PodMonitor", *(f"metrics.{each}" for each in values))
    deployment = only("Deployment")["spec"]["template"]

    assert "b" == monitor["metadata"]["labels"]["a"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    ports = {each["name"] for each in deployment["spec"]["containers"][0]["ports"]}
    assert ("/metrics", True) == (endpoint["path"], endpoint["port"] in ports)
    assert selects(monitor["spec"]["selector"]["matchLabels"], deployment["metadata"]["labels"])


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
    assert [reading] * 3 == [verbs(role, "queues") for role in roles]
    for value in ("rbac.create=false", "rbac.tenantRoles=false"):
        assert "aggregate-to" not in template(value).stdout


def test_the_settings_that_decide_are_in_a_config_map() -> None:
    values = ("settings.strategy=spread", "settings.maxVictims=3", "settings.httpHost=h")
    made = only("ConfigMap", *values, "extraArgs[0]=--no-preemption")
    assert live.NAME == made["metadata"]["name"]

    settings = live.of_config_map(made)
    assert Policy(strategy=NodeStrategy.SPREAD, max_victims=3) == settings.policy
    assert "default/gangs-py-gang-scheduler" == settings.settings_of
    assert "--preemption" in settings.notes[0]
    assert "http" not in made["data"]["settings.json"]


def test_each_setting_that_decides_is_known_to_the_chart() -> None:
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    (listed,) = re.findall(r"\$deciding := list\n(.*?)\}\}", helpers, re.DOTALL)
    known = {
        re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", n) for n in re.findall(r'"(\w+)"', listed)
    }

    assert set(Policy.model_fields) == known


def test_readers_have_a_role_that_nothing_binds() -> None:
    names = [each["metadata"]["name"] for each in rendered() if each["kind"] == "ClusterRole"]
    (name,) = (each for each in names if each.endswith(":reader"))

    assert name not in {each["roleRef"]["name"] for each in rendered() if "roleRef" in each}


def test_administrators_of_queues_have_a_role_that_nothing_binds() -> None:
    roles = {each["metadata"]["name"]: each for each in rendered() if each["kind"] == "ClusterRole"}
    (name,) = (each for each in roles if each.endswith(":queue-admin"))
    bound = {each["roleRef"]["name"] for each in rendered() if "roleRef" in each}

    assert {"create", "update", "patch", "delete"} <= set(roles[name]["rules"][0]["verbs"])
    assert ["queues", "resourceflavors"] == roles[name]["rules"][0]["resources"]
    assert name not in bound
    assert not [each for each in roles[name]["metadata"]["labels"] if "aggregate" in each]


def test_the_roles_that_commands_name_are_there() -> None:
    roles = {each["metadata"]["name"]: each for each in rendered() if each["kind"] == "ClusterRole"}
    bound = {each["roleRef"]["name"] for each in rendered() if "roleRef" in each}
    for sentence in (cluster.ASK_FOR_ALL, cluster.ASK_FOR_QUEUES):
        ending = sentence.rpartition(" ")[2]
        (name,) = (each for each in roles if each.endswith(ending))
        assert name not in bound

    (viewer,) = (each for name, each in roles.items() if name.endswith(":queue-viewer"))
    (rule,) = viewer["rules"]
    assert ["py-gang-scheduler.io"] == rule["apiGroups"]
    assert {"queues", "queues/status", "resourceflavors"} == set(rule["resources"])
    assert {"get", "list", "watch"} == set(rule["verbs"])


def test_the_notes_begin_with_the_image_that_must_be_there() -> None:
    first, image, advice, *_ = notes().splitlines()

    assert "is installed in namespace default." in first
    assert f"Its image is registry.example.com/scheduler:{VERSION}." == image
    assert advice.startswith("No image is published")


def test_the_job_of_the_notes_survives_an_eviction() -> None:
    (text,) = re.findall(r"<<EOF\n(.*?)\nEOF\n", notes(), re.DOTALL)
    group, job = yaml_texts.read_all(text)

    assert group["spec"]["minMember"] == job["spec"]["parallelism"]
    assert "Never" == job["spec"]["template"]["spec"]["restartPolicy"]
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    ended = {"operator": "In", "values": [143]}
    rules = [
        {"action": "Ignore", "onPodConditions": disrupted},
        {"action": "Ignore", "onExitCodes": ended},
    ]
    assert {"rules": rules} == job["spec"]["podFailurePolicy"]


# Suspended workloads.


def manages(*kinds: str, **policies: str) -> tuple[str, ...]:
    """Return values by which these kinds are managed, with what policies."""
    chosen = (f"admissionPolicies.{name}={value}" for name, value in policies.items())
    return (f"settings.manageJobs={{{','.join(kinds)}}}", *chosen)


def scheduler_rules(*values: str) -> list[Manifest]:
    roles = (each for each in rendered(*values) if each["kind"] == "ClusterRole")
    return next(e["rules"] for e in roles if e["metadata"]["name"].count(":") == 1)


def policies(*values: str) -> list[Manifest]:
    return [each for each in rendered(*values) if "AdmissionPolicy" in each["kind"]]


def test_rights_to_start_workloads_are_for_the_kinds_that_are_managed_alone() -> None:
    before, after = scheduler_rules(), scheduler_rules(*manages("Job", "PyTorchJob"))

    assert [
        {
            "apiGroups": ["batch"],
            "resources": ["jobs"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["patch"]},
        {
            "apiGroups": ["kubeflow.org"],
            "resources": ["pytorchjobs"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]},
    ] == [each for each in after if each not in before]


def test_rights_to_change_replicas_are_for_the_kinds_that_the_setting_lists_alone() -> None:
    before = scheduler_rules()
    for kind in table.BY_REPLICAS:
        gvr = table.PATCHED[kind].versions[0]
        after = scheduler_rules(f"settings.elasticKinds={{{kind}}}")

        assert [
            {"apiGroups": [gvr.group], "resources": [gvr.plural], "verbs": ["patch"]},
            {
                "apiGroups": ["autoscaling"],
                "resources": ["horizontalpodautoscalers"],
                "verbs": ["list"],
            },
        ] == [each for each in after if each not in before]


def test_every_kind_that_can_be_managed_has_its_rights_by_its_own_name() -> None:
    for kind, row in table.SUSPENDABLE.items():
        gvr = row.versions[0]
        granted = scheduler_rules(*manages(kind))

        assert {
            "apiGroups": [gvr.group],
            "resources": [gvr.plural],
            "verbs": ["get", "list", "watch", "patch"],
        } in granted


def test_policies_are_made_on_demand_a_kind_each() -> None:
    assert [] == policies(*manages("Job", "JobSet"))
    made = policies(*manages("Job", "JobSet", validate="true"))

    kinds = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    names = [f"{each}.gangs-py-gang-scheduler.default" for each in ("jobs", "jobsets")]
    assert sorted((kind, name) for kind in kinds for name in names) == sorted(
        (each["kind"], each["metadata"]["name"]) for each in made
    )


def test_all_that_a_binding_or_a_request_writes_on_pods_can_be_kept_from_users() -> None:
    made = policies("admissionPolicies.bindings=true")
    (policy,) = (each for each in made if each["kind"] == "ValidatingAdmissionPolicy")
    ours = next(e["expression"] for e in policy["spec"]["variables"] if e["name"] == "ours")
    requests = {annotations.CHECKPOINT_REQUESTED_AT, annotations.CHECKPOINT_REQUEST_ID}

    assert annotations.OF_BINDINGS | requests == set(ours.strip("[]").replace("'", "").split(", "))
    rule = policy["spec"]["matchConstraints"]["resourceRules"][0]
    assert ([""], ["pods"]) == (rule["apiGroups"], rule["resources"])


def test_policies_for_no_kind_are_refused() -> None:
    for policy in ("validate", "suspend"):
        assert "which has none" in refusal(f"admissionPolicies.{policy}=true")


@pytest.mark.parametrize(
    ("served", "version"), [(("v1",), "v1"), (("v1beta1",), "v1beta1"), (("v1", "v1beta1"), "v1")]
)
def test_the_mutating_policy_is_of_the_best_version_that_is_served(
    served: tuple[str, ...], version: str
) -> None:
    group = "admissionregistration.k8s.io"
    asked = [f"--api-versions={group}/{each}/MutatingAdmissionPolicy" for each in served]
    flags = [f"--set={each}" for each in (IMAGE, *manages("Job", suspend="true"))]
    done = helm("template", "gangs", str(CHART), *flags, *asked)

    found = [each for each in yaml_texts.read_all(done.stdout) if each]
    assert {f"{group}/{version}"} == {
        each["apiVersion"] for each in found if each["kind"].startswith("Mutating")
    }


def test_where_no_mutating_policy_is_served_none_is_made_and_the_notes_say_so() -> None:
    values = manages("Job", suspend="true")

    assert [] == policies(*values)
    assert "The cluster serves no MutatingAdmissionPolicies" in notes(*values)
    assert "MutatingAdmissionPolicies" not in notes(*manages("Job"))


def test_labels_that_a_policy_lets_through_are_all_that_there_are() -> None:
    (policy,) = (
        e for e in policies(*manages("Job", validate="true")) if "Binding" not in e["kind"]
    )
    (text,) = (
        e["expression"]
        for e in policy["spec"]["validations"]
        if "all(key, !key.starts" in e["expression"]
    )

    assert {annotations.QUEUE, annotations.JOB_GANG_LABEL, annotations.ROLE} == set(
        re.findall(r"'(py-gang-scheduler.io/[a-z]+)'", text)
    )


class Replica(http.server.BaseHTTPRequestHandler):
    """Answers that it is not ready, and then that it is."""

    statuses: Iterator[int]

    def do_GET(self) -> None:
        """Give the next answer."""
        status = next(type(self).statuses)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"ok" if status == 200 else b"the first lists are not complete")

    def log_message(self, *_: Any) -> None:
        """Say nothing on stderr."""


def asked(statuses: list[int], seconds: str) -> subprocess.CompletedProcess[str]:
    """Run the command of `helm test` against a replica that gives these answers."""
    _, script, url, _ = only("Pod")["spec"]["containers"][0]["command"][1:]
    assert url == "http://gangs-py-gang-scheduler.default.svc:8080/readyz"
    handler = type("Handler", (Replica,), {"statuses": iter(statuses)})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        command = [sys.executable, "-c", script, f"http://127.0.0.1:{server.server_port}/", seconds]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
        thread.join()
    return done


def test_helm_test_waits_until_a_replica_is_ready() -> None:
    done = asked([503, 200], "60")

    assert (0, "ok\n", "") == (done.returncode, done.stdout, done.stderr)


def test_helm_test_gives_up_with_the_last_answer() -> None:
    done = asked([503], "0")

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "503" in done.stderr


def flow_schemas(*values: str) -> dict[str, Manifest]:
    """Return the FlowSchemas and levels by kind and name."""
    kinds = {"FlowSchema", "PriorityLevelConfiguration"}
    found = [each for each in rendered(*values) if each["kind"] in kinds]
    return {f"{each['kind']}/{each['metadata']['name']}": each["spec"] for each in found}


def test_the_lease_is_in_the_level_of_leader_elections_and_all_else_in_one_of_its_own() -> None:
    found = flow_schemas("flowSchema.concurrencyShares=7")

    (level,) = (name for name in found if name.startswith("PriorityLevelConfiguration/"))
    assert 7 == found[level]["limited"]["nominalConcurrencyShares"]
    ours, lease = (found[f"FlowSchema/{level.partition('/')[2]}{end}"] for end in ("", "-lease"))
    assert level.partition("/")[2] == ours["priorityLevelConfiguration"]["name"]
    assert "leader-election" == lease["priorityLevelConfiguration"]["name"]
    assert lease["matchingPrecedence"] < ours["matchingPrecedence"] < 900
    assert ["leases"] == lease["rules"][0]["resourceRules"][0]["resources"]
    account = only("ServiceAccount")["metadata"]["name"]
    for each in (ours, lease):
        (subject,) = each["rules"][0]["subjects"]
        assert account == subject["serviceAccount"]["name"]


@pytest.mark.parametrize(
    ("values", "made"),
    [
        ((), True),
        (("rbac.create=false",), False),
        (("flowSchema.enabled=false",), False),
        (("rbac.create=false", "flowSchema.enabled=true"), True),
    ],
)
def test_flow_schemas_are_made_where_that_is_allowed(
    values: tuple[str, ...], *, made: bool
) -> None:
    assert made == bool(flow_schemas(*values))


def test_the_queue_of_the_level_takes_all_that_may_be_in_flight() -> None:
    def length(*values: str) -> int:
        found = flow_schemas(*values)
        (level,) = (spec for name, spec in found.items() if name.startswith("PriorityLevel"))
        queue: int = level["limited"]["limitResponse"]["queuing"]["queueLengthLimit"]
        return queue

    assert length() > 2 * 64
    assert (
        length("settings.bindConcurrency=1024", "settings.statusConcurrency=256") > 2 * 1024 + 256
    )


def test_a_new_pod_is_ready_before_an_old_one_ends() -> None:
    strategy = only("Deployment")["spec"]["strategy"]
    assert {"maxSurge": 1, "maxUnavailable": 0} == strategy["rollingUpdate"]

    alone = only("Deployment", "settings.leaderElect=false", "replicas=1")["spec"]["strategy"]
    assert {"type": "Recreate"} == alone


def test_an_update_that_could_never_go_on_is_refused() -> None:
    values = ("rollingUpdate.maxSurge=0", "rollingUpdate.maxUnavailable=0")

    assert "no pod could ever be replaced" in refusal(*values)


CLAIM = "recording.volume.persistentVolumeClaim.claimName=recordings"


def test_nothing_is_recorded_by_default() -> None:
    spec, _ = pod_specs()

    assert ["tmp"] == [each["name"] for each in spec["volumes"]]
    assert "fsGroup" not in spec["securityContext"]
    assert "PGS_RECORD_TO" not in {each["name"] for each in spec["containers"][0]["env"]}


def test_the_scheduler_records_to_a_volume_that_is_named() -> None:
    spec, _ = pod_specs(CLAIM, "recording.subPath=gangs", "settings.recordFiles=3")
    (container,) = spec["containers"]
    env = {each["name"]: each.get("value") for each in container["env"]}

    assert {"name": "recording", "persistentVolumeClaim": {"claimName": "recordings"}} in (
        spec["volumes"]
    )
    mount = {"name": "recording", "mountPath": "/recordings", "subPath": "gangs"}
    assert mount in container["volumeMounts"]
    assert ("/recordings", "3") == (env["PGS_RECORD_TO"], env["PGS_RECORD_FILES"])
    assert 65532 == spec["securityContext"]["fsGroup"]


def test_a_directory_of_ones_own_is_where_the_volume_is_mounted() -> None:
    spec, _ = pod_specs(CLAIM, "settings.recordTo=/week", "podSecurityContext.fsGroup=7")
    (container,) = spec["containers"]

    given = [each["value"] for each in container["env"] if each["name"] == "PGS_RECORD_TO"]
    assert ["/week"] == given
    assert {"name": "recording", "mountPath": "/week"} in container["volumeMounts"]
    assert 7 == spec["securityContext"]["fsGroup"]


def test_where_users_are_given_by_the_namespace_no_group_is_set() -> None:
    spec, _ = pod_specs(CLAIM, "podSecurityContext.runAsGroup=null")

    assert "fsGroup" not in spec["securityContext"]


def test_recording_needs_a_volume() -> None:
    assert "settings.recordTo=/week needs recording.volume" in refusal("settings.recordTo=/week")
    assert "/recording/subPath" in refusal(CLAIM, "recording.subPath=../other")


# The page.

PAGE = "page.enabled=true"


def of_page(kind: str, *values: str) -> list[Manifest]:
    """Return the objects of a kind that are made with the page alone."""
    without = [str(each) for each in rendered(*values)]
    return [
        each
        for each in rendered(PAGE, *values)
        if each["kind"] == kind and str(each) not in without
    ]


def test_the_page_is_made_only_on_demand_and_beside_the_scheduler() -> None:
    (page,) = of_page("Deployment")
    (service,) = of_page("Service")
    scheduler = only("Deployment")
    labels = page["spec"]["template"]["metadata"]["labels"]

    assert not [each for each in rendered() if "page" in each["metadata"]["name"]]
    assert selects(page["spec"]["selector"]["matchLabels"], labels)
    assert selects(service["spec"]["selector"], labels)
    assert not selects(scheduler["spec"]["selector"]["matchLabels"], labels)
    assert (1, "Recreate") == (page["spec"]["replicas"], page["spec"]["strategy"]["type"])


def test_the_pod_of_the_page_is_as_confined_as_the_scheduler() -> None:
    page = of_page("Deployment")[0]["spec"]["template"]["spec"]
    scheduler = only("Deployment")["spec"]["template"]["spec"]

    (container,), (other,) = page["containers"], scheduler["containers"]
    assert other["securityContext"] == container["securityContext"]
    assert scheduler["securityContext"].items() <= page["securityContext"].items()
    assert not page["enableServiceLinks"]
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert {"/tmp", "/history"} == mounts  # noqa: S108 - a path in the container.


def test_the_arguments_of_the_page_are_those_of_its_command() -> None:
    values = ("page.ingress.enabled=true", "page.ingress.host=gangs.example.com")
    (page,) = of_page("Deployment", *values)
    (container,) = page["spec"]["template"]["spec"]["containers"]
    given = [each.partition("=")[0] for each in container["args"]]
    known = {each for option in page_command.params for each in option.opts}

    assert ["py-gang-scheduler", "page"] == container["command"]
    assert set(given) <= known
    assert "--allowed-host=gangs.example.com" in container["args"]
    assert "--map=all" in container["args"]


def test_the_page_may_read_and_ask_who_may_what_and_nothing_else() -> None:
    roles = {each["metadata"]["name"]: each for each in rendered(PAGE) if "rules" in each}
    bound = [each["roleRef"]["name"] for each in of_page("ClusterRoleBinding")]
    assert ["page", "reader"] == sorted(each.rpartition(":")[2] for each in bound)
    rules = [rule for name in bound for rule in roles[name]["rules"]]
    written = {
        (verb, resource)
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
        if verb not in ("get", "list", "watch")
    }
    assert {("create", "tokenreviews"), ("create", "subjectaccessreviews")} == written
    assert not of_page("ClusterRoleBinding", "rbac.create=false")


def test_the_network_policy_of_the_page_is_for_its_pod() -> None:
    (policy,) = of_page("NetworkPolicy", "networkPolicy.enabled=true")
    (page,) = of_page("Deployment")
    labels = page["spec"]["template"]["metadata"]["labels"]

    assert selects(policy["spec"]["podSelector"]["matchLabels"], labels)
    assert ["page", "probes"] == [rule["ports"][0]["port"] for rule in policy["spec"]["ingress"]]
    assert [443, 6443] == [each["port"] for each in policy["spec"]["egress"][0]["ports"]]
    other = only("NetworkPolicy", "networkPolicy.enabled=true")
    assert not selects(other["spec"]["podSelector"]["matchLabels"], labels)


def test_the_page_behind_an_ingress_answers_to_its_host() -> None:
    values = ("page.ingress.enabled=true", "page.ingress.host=gangs.example.com")
    (ingress,) = of_page("Ingress", *values, "page.ingress.tlsSecret=certificate")

    (rule,), (tls,) = ingress["spec"]["rules"], ingress["spec"]["tls"]
    assert "gangs.example.com" == rule["host"]
    assert {"hosts": ["gangs.example.com"], "secretName": "certificate"} == tls


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((PAGE, "page.ingress.enabled=true"), "needs page.ingress.host"),
        ((PAGE, "page.auth=proxy"), "page.auth=proxy needs page.tlsSecret"),
        (("page.auth=none",), "/page/auth': value must be one of 'token', 'proxy'"),
    ],
)
def test_a_page_that_could_not_work_is_refused(values: tuple[str, ...], words: str) -> None:
    assert words in refusal(*values)


def test_a_proxy_names_users_only_with_a_certificate_of_its_ca() -> None:
    values = ("page.auth=proxy", "page.tlsSecret=tls", "page.proxyCaConfigMap=front-proxy")
    pod = of_page("Deployment", *values)[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert {"--auth=proxy", "--proxy-ca=/proxy-ca/ca.crt"} <= {*container["args"]}
    assert {"tls", "proxy-ca"} < {each["name"] for each in pod["volumes"]}
