"""What a user can read of a gang: phases, conditions, columns, Events; of the operator: metrics."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from e2e.support import operator_health
from e2e.support.manifests import gang, members, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from gang_scheduler.model.wording import counted
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CLAIM = [{"name": "gpu", "resourceClaimName": "gpu"}]


def test_the_phase_follows_the_life_of_the_gang(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, cpu=1, kubelets=False)
    namespace.create(pod_group("a", 2))
    eventually("Pending", lambda: namespace.phase("a"))

    namespace.create(*members("a", 2, on=namespace.here))
    eventually("Scheduling", lambda: namespace.phase("a"))

    namespace.change_node(node, lambda n: n["status"]["allocatable"].update(cpu="2"), "status")
    eventually("Scheduled", lambda: namespace.phase("a"))

    namespace.set_phase("a-0", "Running")
    eventually(1, lambda: namespace.status("a")["running"])
    assert "Scheduled" == namespace.phase("a")
    namespace.set_phase("a-1", "Running")
    eventually("Running", lambda: namespace.phase("a"))

    namespace.set_phase("a-0", "Succeeded")
    eventually((1, 1), lambda: counts(namespace, "running", "succeeded"))
    assert "Running" == namespace.phase("a")
    namespace.set_phase("a-1", "Succeeded")
    eventually("Finished", lambda: namespace.phase("a"))

    namespace.delete("pods", "a-0", "a-1")
    eventually("Pending", lambda: namespace.phase("a"))
    assert (0, 0, 0, 0, 0) == counts(
        namespace, "members", "scheduled", "running", "succeeded", "failed"
    )


def test_a_gang_fails_when_too_few_members_are_left(namespace: Namespace) -> None:
    namespace.own_nodes(1, kubelets=False)
    namespace.create(*gang("a", 2, on=namespace.here))
    eventually("Scheduled", lambda: namespace.phase("a"))
    namespace.set_phase("a-0", "Running")

    namespace.set_phase("a-1", "Failed")

    eventually("Failed", lambda: namespace.phase("a"))
    eventually((1, 1), lambda: counts(namespace, "running", "failed"))


def test_a_complete_gang_that_may_not_be_tried_is_in_prescheduling(namespace: Namespace) -> None:
    namespace.create(*gang("a", 2, resourceClaims=CLAIM))

    eventually("PreScheduling", lambda: namespace.phase("a"))
    assert "ClaimNotFound" == namespace.condition_of_gang("a", "Scheduled")["reason"]


def test_conditions_say_of_which_generation_they_are(namespace: Namespace) -> None:
    namespace.create(*gang("a", 1, min_member=3))
    eventually(1, lambda: observed_generation(namespace))
    waiting = namespace.condition_of_gang("a", "Scheduled")
    assert ("False", "WaitingForMembers") == (waiting["status"], waiting["reason"])
    assert "1 of minMember 3 members exist" == waiting["message"]

    namespace.kubectl("patch", "podgroup", "a", "--type=merge", '--patch={"spec":{"minMember":1}}')

    eventually(2, lambda: observed_generation(namespace))
    eventually("True", lambda: namespace.condition_of_gang("a", "Scheduled")["status"])


def test_an_unschedulable_member_says_what_is_short(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 2, cpu=1000))

    eventually("Unschedulable", lambda: namespace.condition_of_pod("a-1").get("reason"))
    condition = namespace.condition_of_pod("a-1")
    assert "False" == condition["status"]
    assert (
        "It would not fit even the empty cluster: ask for less, or add larger nodes. "
        "0/16 nodes are available: 16 Insufficient cpu."
    ) == condition["message"].partition(". ")[2]
    assert condition["message"].startswith("Each member asks 1000 cpu, and the largest node has ")


def test_members_hear_only_once_that_others_are_missing_and_after_5_seconds(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 2, min_member=9))
    eventually(2, lambda: namespace.status("a").get("members"))
    with namespace.watch() as watcher:
        told = until(lambda: namespace.condition_of_pod("a-0"))
        assert ("False", "WaitingForMembers") == (told["status"], told["reason"])
        assert f"gang {namespace.name}/a: 2 of minMember 9 members exist" == told["message"]
        created = namespace.get("pods", "a-0")["metadata"]["creationTimestamp"]
        first, then = map(datetime.fromisoformat, (created, told["lastTransitionTime"]))
        assert then - first >= timedelta(seconds=5)

        namespace.create(*members("a", 3, first=2))
        eventually(5, lambda: namespace.status("a").get("members"))
        watcher.wait_until(lambda seen: len(versions(seen, "a-2")) == 2)

        # As it was when the watch began, and told once at most since then.
        assert len(versions(watcher, "a-0")) <= 2


def test_a_gang_that_is_complete_within_5_seconds_never_reads_that_it_waits(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 2, min_member=3))
    eventually("WaitingForMembers", lambda: reason(namespace))
    namespace.create(*members("a", 1, first=2))

    eventually("Running", lambda: namespace.phase("a"))
    condition = namespace.condition_of_pod("a-0")
    assert ("True", None) == (condition["status"], condition.get("reason"))


def test_a_gang_is_reported_as_late_after_its_timeout_and_stays_in_the_queue(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 2, timeout_seconds=1, on=namespace.here))

    eventually("True", lambda: late(namespace).get("status"))
    assert "Unschedulable" == late(namespace)["reason"]
    assert until(lambda: namespace.status("a")["scheduleStartTime"])
    namespace.own_nodes(1)
    eventually("Running", lambda: namespace.phase("a"))
    eventually("False", lambda: late(namespace).get("status"))


def test_kubectl_shows_the_columns_under_each_short_name(namespace: Namespace) -> None:
    namespace.create(*gang("a", 3, min_member=2))
    eventually("Running", lambda: namespace.phase("a"))
    eventually(3, lambda: namespace.status("a")["running"])

    heading, row = namespace.kubectl("get", "podgroups").splitlines()
    columns = "NAME PHASE MIN MEMBERS SCHEDULED RUNNING REASON AGE"
    assert columns == " ".join(heading.split())
    heading, _ = namespace.kubectl("get", "podgroups", "--output=wide").splitlines()
    assert columns.replace("REASON", "DOMAIN QUEUE REASON") == " ".join(heading.split())
    assert ["a", "Running", "2", "3", "3", "3", "Scheduled"] == row.split()[:-1]
    assert {row.split()[0]} == {
        namespace.kubectl("get", name, "--no-headers").split()[0] for name in ("pg", "gangs")
    }


def test_kubectl_describe_shows_the_events_of_a_gang(namespace: Namespace) -> None:
    namespace.create(*gang("a", 2))
    (note,) = until(lambda: namespace.notes("a", "Scheduled"))

    nodes = sorted(set(namespace.bound("a").values()))
    places = counted(len(nodes), "node")
    assert f"Successfully assigned 2 members to {places}: {', '.join(nodes)}" == note
    assert note in namespace.kubectl("describe", "podgroup", "a")
    eventually("Running", lambda: namespace.phase("a"))


def test_kubectl_describe_pod_shows_why_it_waits_and_then_where_it_went(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(2, cpu=1)
    namespace.create(*gang("a", 3, on=namespace.here))
    (why,) = until(lambda: namespace.notes("a-1", "FailedScheduling"))

    assert namespace.condition_of_pod("a-1")["message"] == why
    created = namespace.get("pods", "a-1")["metadata"]["creationTimestamp"]
    (told,) = namespace.events("a-1")
    waited = datetime.fromisoformat(told["eventTime"]) - datetime.fromisoformat(created)
    assert timedelta(seconds=10) <= waited
    eventually([why], lambda: namespace.notes("a-2", "FailedScheduling"))

    namespace.own_nodes(1, cpu=1)
    eventually("Running", lambda: namespace.phase("a"))
    (where,) = until(lambda: namespace.notes("a-1", "Scheduled"))
    words = f"Successfully assigned {namespace.name}/a-1 to {namespace.node_of('a-1')}"
    assert f"{words} with 2 other members of gang {namespace.name}/a" == where
    shown = namespace.kubectl("describe", "pod", "a-1")
    assert all(f"py-gang-scheduler  {each}" in shown for each in (why, where))


def test_kubectl_describe_pod_of_an_incomplete_gang_shows_one_event(namespace: Namespace) -> None:
    namespace.create(*gang("a", 2, min_member=9))

    eventually(
        {f"a-{i}": [f"gang {namespace.name}/a: 2 of minMember 9 members exist"] for i in range(2)},
        lambda: {f"a-{i}": namespace.notes(f"a-{i}", "FailedScheduling") for i in range(2)},
    )
    shown = namespace.kubectl("describe", "pod", "a-0")
    assert "FailedScheduling" in shown
    assert "2 of minMember 9 members exist" in shown.partition("Events:")[2]
    namespace.create(*members("a", 1, first=2))
    eventually(3, lambda: namespace.status("a").get("members"))
    # A count that changes is no other Event.
    assert 1 == len(namespace.events("a-0"))


def test_the_owner_of_the_pods_is_named(namespace: Namespace) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {
                "metadata": pod("x", gang_name="a")["metadata"] | {"name": ""},
                "spec": pod("x")["spec"] | {"restartPolicy": "Never"},
            },
        },
    }
    namespace.create(pod_group("a", 2), job)

    eventually(f"{namespace.name}/train", lambda: namespace.status("a").get("occupiedBy"))
    eventually("Running", lambda: namespace.phase("a"))
    namespace.cluster.request(
        "DELETE", f"{namespace.path('jobs')}/train", {"propagationPolicy": "Background"}
    )


def test_the_operator_answers_probes_and_counts_what_it_did(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    assert ("ok", "ok") == (scheduler.get("/healthz"), scheduler.get("/readyz"))
    bindings = scheduler.metric("pgs_bindings_total")
    gangs = scheduler.metric("pgs_gangs_bound_total")

    namespace.create(*gang("a", 3))
    eventually(bindings + 3, lambda: scheduler.metric("pgs_bindings_total"))

    assert gangs + 1 == scheduler.metric("pgs_gangs_bound_total")
    assert 1 == scheduler.metric("pgs_leader")


def test_a_gang_of_twenty_costs_few_status_writes(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    before = scheduler.metric("pgs_writes_total")

    namespace.create(*gang("a", 20))
    eventually(20, lambda: namespace.status("a").get("running"))

    # One for each half second in which something changed, and an Event of the gang and each pod.
    assert scheduler.metric("pgs_writes_total") - before <= 10 + 20


def test_every_cycle_that_decides_writes_one_log_line(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    offset = scheduler.log.stat().st_size
    namespace.create(*gang("a", 3))
    eventually("Running", lambda: namespace.phase("a"))

    cycles = operator_health.log_lines(scheduler, "cycle_done", offset)
    assert sorted({line["cycle"] for line in cycles}) == [line["cycle"] for line in cycles]
    assert (1, 3) == (sum(c["placed"] for c in cycles), sum(c["pods"] for c in cycles))
    assert {"cycle", "placed", "pods", "refused", "seconds"} <= set(cycles[0])


def test_nothing_of_kopf_is_on_pods_nodes_and_pod_groups(namespace: Namespace) -> None:
    nodes = namespace.own_nodes(2)
    namespace.create(*gang("a", 2, cpu=20, on=namespace.here), pod("huge", cpu=1000))
    eventually("Running", lambda: namespace.phase("a"))
    until(lambda: namespace.condition_of_pod("huge"))

    plan = {f"py-gang-scheduler.io/plan-{part}" for part in ("id", "size", "gang")}
    assert plan == {key for each in namespace.every("pods") for key in annotations(each)}
    nodes_seen = [namespace.cluster.request("GET", f"/api/v1/nodes/{name}") for name in nodes]
    assert set() == {key for each in nodes_seen for key in annotations(each)}
    objects = [*namespace.every("pods"), *namespace.every("podgroups"), *nodes_seen]
    assert [] == [each["metadata"]["name"] for each in objects if "finalizers" in each["metadata"]]
    # The test itself has no User-Agent, hence "unknown"; so no other client wrote to the nodes.
    assert {"unknown"} == {manager for each in nodes_seen for manager in managers(each)}
    assert not [each for each in objects for manager in managers(each) if "kopf" in manager]


def annotations(thing: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = thing["metadata"].get("annotations", {})
    return found


def managers(thing: dict[str, Any]) -> set[str]:
    return {each["manager"] for each in thing["metadata"]["managedFields"]}


def versions(seen: controlplane.Watcher, name: str) -> set[str]:
    return {event.resource_version for event in seen.history if event.name == name}


def counts(namespace: Namespace, *names: str) -> tuple[int, ...]:
    status = namespace.status("a")
    return tuple(status[name] for name in names)


def observed_generation(namespace: Namespace) -> int | None:
    found: int | None = namespace.condition_of_gang("a", "Scheduled").get("observedGeneration")
    return found


def reason(namespace: Namespace) -> str | None:
    found: str | None = namespace.condition_of_gang("a", "Scheduled").get("reason")
    return found


def late(namespace: Namespace) -> dict[str, str]:
    return namespace.condition_of_gang("a", "SchedulingTimeout")
