"""Queues on a real API server: what gangs may use, whatever becomes of the queue meanwhile."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, charged_to, gang, queue, reason, resource_flavor
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

POOL = "example.com/pool"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: a queue may borrow what all nodes have."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started, queues.objects(plane) as made:
        # Without any queue in the cluster, what gangs say of queues is not looked at.
        made.create_and_wait(queue("idle", 0))
        yield started


def test_a_team_borrows_what_another_leaves_and_waits_for_what_is_given_back(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=32)
    team_a = queue("team-a", 4, borrowing={"enabled": True})
    patient = queue("team-b", 4, preemption={"reclaim": "Never"})
    objects.create(queue("root", 8), team_a, patient)
    on = namespace.here
    namespace.create(*gang("a", 4, "team-a", on=on), *gang("lent", 4, "team-a", on=on))
    eventually(8, lambda: len(namespace.bound()))
    assert {("team-a", '{"cpu":"default"}')} == charged_to(namespace, "lent")
    eventually("Reserved", lambda: reason(namespace, "lent", "QuotaReserved"))

    namespace.create(*gang("b", 4, "team-b", on=on))
    eventually("WaitingForQuota", lambda: reason(namespace, "b"))
    message = "needs 4 cpu, and queue team-b has 0 left; borrowed by team-a"
    eventually(message, lambda: namespace.condition_of_pod("b-0").get("message"))
    eventually("team-b", lambda: namespace.status("b").get("queue", {}).get("name"))

    namespace.delete_gangs("lent")
    eventually(4, lambda: len(namespace.bound("b")))
    eventually(
        ({"default": {"cpu": "4"}}, {"default": {"cpu": "0"}}), lambda: figures(objects, team_a)
    )


def test_a_queue_that_is_stopped_starts_nothing_until_it_is_released(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=8)
    team = queue("team", 8)
    objects.create(team)
    namespace.create(*gang("first", 2, "team", on=namespace.here))
    eventually(2, lambda: len(namespace.bound("first")))

    objects.change(team, stopPolicy="Hold")
    eventually("False", lambda: objects.condition(team, "Active"))
    namespace.create(*gang("second", 2, "team", on=namespace.here))
    eventually("QueueStopped", lambda: reason(namespace, "second"))
    assert 2 == len(namespace.bound())

    objects.change(team, stopPolicy="None")
    eventually(2, lambda: len(namespace.bound("second")))


def test_the_next_flavor_is_taken_when_the_nodes_of_the_first_are_full(
    namespace: Namespace, objects: Objects
) -> None:
    (spot,) = namespace.own_nodes(1, cpu=4, labels={POOL: "spot"})
    (reserved,) = namespace.own_nodes(1, cpu=4, labels={POOL: "reserved"})
    pools = ("spot", "reserved")
    quota = {"soft": {"cpu": "16"}}
    objects.create(*(resource_flavor(each, {POOL: each}) for each in pools))
    objects.create(queue("team", flavors=[{"name": each, "quota": quota} for each in pools]))

    for name, node, flavor in (("first", spot, "spot"), ("second", reserved, "reserved")):
        namespace.create(*gang(name, 3, "team", on=namespace.here))
        eventually([node] * 3, functools.partial(nodes_of, namespace, name))
        assert {("team", f'{{"cpu":"{flavor}"}}')} == charged_to(namespace, name)


def test_quota_below_what_is_used_evicts_nothing_and_starts_nothing(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=16)
    team = queue("team", 8)
    objects.create(team)
    names = ("a", "b")
    namespace.create(*(doc for name in names for doc in gang(name, 3, "team", on=namespace.here)))
    eventually(6, lambda: len(namespace.bound()))
    running = namespace.bound()

    objects.change(team, quota={"soft": {"cpu": "4"}})
    namespace.create(*gang("new", 1, "team", on=namespace.here))
    eventually("WaitingForQuota", lambda: reason(namespace, "new"))
    assert running == namespace.bound()

    namespace.delete_gangs("a")
    eventually(1, lambda: len(namespace.bound("new")))


def test_gangs_of_a_queue_that_is_deleted_wait_until_it_is_there_again(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=32)
    team = queue("team", 32)
    objects.create(team)
    namespace.create(*gang("first", 2, "team", on=namespace.here))
    eventually(2, lambda: len(namespace.bound("first")))

    objects.delete(team)
    late = until(lambda: gangs_that_find_no_queue(namespace))
    running = namespace.bound()
    assert 2 == len(namespace.bound("first"))
    assert all({} == namespace.bound(f"{name}-") for name in late)

    objects.create(team)
    eventually(set(), lambda: {name for name in late if not namespace.bound(f"{name}-")})
    assert running.items() <= namespace.bound().items()


def test_the_queue_of_another_team_is_not_for_a_tenant(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=16)
    theirs = {"matchLabels": {"kubernetes.io/metadata.name": "theirs"}}
    ours = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
    objects.create(queue("theirs", 8, namespaceSelector=theirs))
    objects.create(queue("ours", 8, namespaceSelector=ours))

    for name in ("theirs", "ours"):
        namespace.create(*gang(name, 1, name, on=namespace.here))

    eventually("QueueNotFound", lambda: reason(namespace, "theirs"))
    message = namespace.condition_of_gang("theirs", "Scheduled")["message"]
    assert f"Queue theirs is not for namespace {namespace.name}" == message
    eventually(1, lambda: len(namespace.bound("ours")))
    assert {} == namespace.bound("theirs")


def gangs_that_find_no_queue(namespace: Namespace) -> list[str]:
    """Create one more gang of the queue `team`; return which gangs wait because it is not there."""
    number = len(namespace.every("podgroups"))
    namespace.create(*gang(f"g{number}", 1, "team", on=namespace.here))
    until(lambda: reason(namespace, f"g{number}") in ("QueueNotFound", "Scheduled"))
    groups = [each["metadata"]["name"] for each in namespace.every("podgroups")]
    return [name for name in groups if reason(namespace, name) == "QueueNotFound"]


def nodes_of(namespace: Namespace, gang: str) -> list[str]:
    """Return the node of each bound member of a gang."""
    return list(namespace.bound(f"{gang}-").values())


def figures(objects: Objects, of: Manifest) -> tuple[object, object]:
    """Return what a Queue says that it uses, and that it borrows."""
    status = objects.status(of)
    return status.get("used"), status.get("borrowed")


def test_a_drained_queue_lets_go_of_what_runs_and_takes_it_again_later(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1)
    team, other = queue("drained", 8), queue("calm", 8)
    objects.create_and_wait(team)
    objects.create_and_wait(other)
    namespace.create(*job("goes", "drained", on=namespace.here))
    namespace.create(*gang("stays", 2, "calm", on=namespace.here))
    eventually(2, lambda: len(namespace.bound("goes-")))
    eventually(2, lambda: len(namespace.bound("stays-")))

    objects.change(team, stopPolicy="HoldAndDrain")
    eventually({}, lambda: namespace.bound("goes-"))
    assert 2 == len(namespace.bound("stays-"))
    until(lambda: namespace.notes("goes", "Drained"))

    objects.change(team, stopPolicy="None")
    eventually(2, lambda: len(namespace.bound("goes-")))


def job(name: str, team: str, **pod_fields: Any) -> list[Manifest]:
    """Return a Job of two pods that are a gang; what is evicted comes again."""
    group, member, *_ = gang(name, 2, team, **pod_fields)
    spec = {**member["spec"], "restartPolicy": "Never"}
    template = {"metadata": {"labels": member["metadata"]["labels"]}, "spec": spec}
    metadata = {"name": name}
    fields = {"parallelism": 2, "completions": 2, "backoffLimit": 20, "template": template}
    return [
        group,
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": fields},
    ]
