"""A user with the rights of `edit` in one namespace attacks others, on a real API server.

Nodes have no kubelets where a test says itself when a pod is gone.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.support import gang_manifests, manifests, preemption, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import HIGH, high, let_go, low
from e2e.support.queues import Objects, queue
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CPUS = 8
TEN_YEARS = 315_360_000
MANY = 150
LONG_NAME = "ab" * 29
LONG_PODS = 12
DIGITS = "1" * 250_000
OUR_POD_GROUPS = "podgroups.scheduling.sigs.k8s.io"
UNUSUAL, EXPECTED_DURATION = "example.com/notes", "py-gang-scheduler.io/expected-duration"


@pytest.fixture(scope="module", params=["kopf", "reflector"])
def pod_source(request: pytest.FixtureRequest) -> str:
    """Name what watches the cluster."""
    return str(request.param)


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with priorities, which serves PodGroups of Kubernetes, too."""
    with controlplane.start(controlplane.Options(native_gangs=True)) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def operator_process(
    plane: controlplane.ControlPlane, pod_source: str
) -> Iterator[controlplane.Scheduler]:
    name = f"operator-{pod_source}"
    with (
        controlplane.Scheduler(plane, f"--source={pod_source}", name=name) as started,
        queues.objects(plane) as made,
    ):
        # Without any queue in the cluster, what gangs say of queues is not looked at.
        made.create_and_wait(queue("idle", 0))
        yield started


@pytest.fixture
def tenant(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Give the namespace that attacks; `namespace` is attacked, and has the nodes."""
    with Namespace(plane, "tenant") as made:
        yield made


def test_a_pod_group_of_a_high_priority_over_pods_of_a_low_one_evicts_nothing(
    namespace: Namespace, tenant: Namespace
) -> None:
    (node,) = namespace.own_nodes(1, cpu=CPUS, kubelets=False)
    preemption.start(namespace, low("theirs", node, cpu=CPUS))
    group, *pods = gang_manifests.native_gang("a", 2, cpu=CPUS // 2, on=namespace.here)
    group["spec"]["priorityClassName"] = HIGH
    gang_manifests.create(tenant, group, *pods)

    eventually({"InvalidSpec"}, lambda: gang_manifests.reasons(tenant, 2))
    assert set() == preemption.marked(namespace) | preemption.evicted(namespace)
    assert {} == preemption.nominated(tenant)

    # Pods of that priority do evict it.
    tenant.create(*high("b", 1, cpu=CPUS, on=namespace.here))
    eventually({"theirs"}, lambda: preemption.evicted(namespace))
    assert set() == set(preemption.nominated(tenant)) - {"b-0"}


@pytest.mark.parametrize("forged", [None, "other"], ids=["deleted", "changed"])
def test_what_runs_stays_charged_whatever_becomes_of_what_it_says_of_a_queue(
    namespace: Namespace, objects: Objects, forged: str | None
) -> None:
    namespace.own_nodes(1, cpu=32)
    objects.create_and_wait(queue("team", quota={"hard": {"cpu": "4"}}))
    objects.create_and_wait(queue("other", 32))
    namespace.create(*queues.gang("first", 4, "team", on=namespace.here))
    eventually(4, lambda: len(namespace.bound("first")))

    for name in namespace.bound("first"):
        namespace.change_pod(name, lambda pod: annotate(pod, queues.QUEUE, forged))
    relabelled = f"{queues.QUEUE}={forged}" if forged else f"{queues.QUEUE}-"
    namespace.kubectl("label", "--overwrite", f"{OUR_POD_GROUPS}/first", relabelled)
    namespace.create(*queues.gang("second", 4, "team", on=namespace.here))

    eventually("WaitingForQuota", lambda: queues.reason(namespace, "second"))
    namespace.create(*queues.gang("third", 1, "other", on=namespace.here))
    eventually(1, lambda: len(namespace.bound("third")))
    assert {} == namespace.bound("second")

    namespace.delete_gangs("first")
    eventually(4, lambda: len(namespace.bound("second")))


def test_a_pod_that_its_tenant_deleted_with_ten_years_of_grace_is_not_waited_for(
    namespace: Namespace, tenant: Namespace
) -> None:
    slow, other = namespace.own_nodes(2, cpu=CPUS, kubelets=False)
    grave = low("grave", slow, cpu=CPUS, terminationGracePeriodSeconds=TEN_YEARS)
    preemption.start(tenant, grave)
    preemption.start(namespace, low("victim", other, cpu=CPUS))
    path = f"{tenant.path('pods')}/grave"
    tenant.cluster.request("DELETE", path, {"gracePeriodSeconds": TEN_YEARS})
    eventually({"grave"}, lambda: preemption.evicted(tenant))

    namespace.create(*high("a", 1, cpu=CPUS, on=namespace.here))

    eventually({"a-0": other}, lambda: preemption.nominated(namespace))
    let_go(namespace, ["victim"])
    eventually({"a-0": other}, lambda: namespace.bound("a-"))
    assert set() == preemption.marked(tenant)


def test_no_owner_of_kind_daemon_set_keeps_a_pod_from_being_evicted(
    namespace: Namespace, tenant: Namespace
) -> None:
    """One that is there owns a pod and does not control it; one of no group at all controls it."""
    owning, controlling = namespace.own_nodes(2, cpu=CPUS, kubelets=False)
    gang_manifests.create(tenant, daemon_set_without_pods("agent"))
    found = tenant.cluster.request("GET", f"{daemon_sets(tenant)}/agent")
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}
    owned = low("owned", owning, cpu=CPUS)
    owned["metadata"]["ownerReferences"] = [{**agent, "uid": found["metadata"]["uid"]}]
    controlled = low("controlled", controlling, cpu=CPUS)
    foreign = {**agent, "apiVersion": "example.com/v1", "uid": "of-none", "controller": True}
    controlled["metadata"]["ownerReferences"] = [foreign]
    preemption.start(tenant, owned, controlled)

    namespace.create(*high("a", 2, cpu=CPUS, on=namespace.here))

    let_go(tenant, ["owned", "controlled"])
    eventually({owning, controlling}, lambda: set(namespace.bound("a-").values()))


def test_many_names_that_are_nearly_right_cost_what_others_do(
    scheduler: controlplane.Scheduler, namespace: Namespace, tenant: Namespace
) -> None:
    namespace.own_nodes(1)

    def missing(groups: str, members: str) -> Callable[[], None]:
        names = [(f"{groups}{number:03}a", f"{members}{number:03}b") for number in range(MANY)]

        def create() -> None:
            tenant.create(*(manifests.pod_group(group, 2) for group, _ in names))
            pods = [
                manifests.pod(f"p-{number}", gang_name=member)
                for number, (_, member) in enumerate(names)
            ]
            tenant.create(*pods)
            must_start_a_gang(namespace)
            eventually({"PodGroupNotFound"}, lambda: gang_manifests.reasons(tenant, MANY))
            must_start_a_gang(namespace)
            tenant.delete_all("pods")
            tenant.delete_all("podgroups")

        return create

    # A name that is as long and like no other one is no candidate for a hint.
    usual = cpu_seconds(scheduler, missing("xy" * 29, LONG_NAME))

    assert cpu_seconds(scheduler, missing(LONG_NAME, LONG_NAME)) < 2 * usual


def test_long_texts_cost_what_those_do_that_are_not_read(
    scheduler: controlplane.Scheduler, namespace: Namespace, tenant: Namespace
) -> None:
    namespace.own_nodes(1)

    def create(key: str) -> None:
        pods = [manifests.pod(f"p-{number}", cpu=1000) for number in range(LONG_PODS)]
        for pod in pods:
            pod["metadata"]["annotations"] = {key: DIGITS}
        tenant.create(*pods)
        must_start_a_gang(namespace)
        until(lambda: len(gang_manifests.messages(tenant)) == LONG_PODS)
        until(lambda: all(gang_manifests.messages(tenant)))
        tenant.delete_all("pods")

    usual = cpu_seconds(scheduler, lambda: create(UNUSUAL))

    assert cpu_seconds(scheduler, lambda: create(EXPECTED_DURATION)) < 2 * usual


def must_start_a_gang(namespace: Namespace) -> None:
    """Create a gang, see it bound, and delete it."""
    namespace.create(*manifests.gang("good", 2, on=namespace.here))
    eventually(2, lambda: len(namespace.bound("good-")))
    namespace.delete_gangs("good")


def cpu_seconds(scheduler: controlplane.Scheduler, do: Callable[[], None]) -> float:
    """Return how much CPU time the operator takes meanwhile."""
    before = scheduler.cluster.processes.cpu_seconds(scheduler.name)
    do()
    return scheduler.cluster.processes.cpu_seconds(scheduler.name) - before


def annotate(pod: Manifest, key: str, text: str | None) -> None:
    """Set an annotation of a pod, or delete it."""
    others = {k: v for k, v in pod["metadata"]["annotations"].items() if k != key}
    pod["metadata"]["annotations"] = others if text is None else {**others, key: text}


def daemon_sets(namespace: Namespace) -> str:
    """Return the path of the DaemonSets of a namespace."""
    return f"/apis/apps/v1/namespaces/{namespace.name}/daemonsets"


def daemon_set_without_pods(name: str) -> Manifest:
    """Return a DaemonSet that selects no node."""
    labels = {"app": name}
    spec = manifests.pod("any", on={"example.com/nowhere": "true"})["spec"]
    spec.pop("terminationGracePeriodSeconds")
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
