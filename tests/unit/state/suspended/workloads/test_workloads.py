"""Workloads that wait suspended: which are ours, when they start, and what their pods get."""

from typing import Any

import pytest

from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.queues import Product
from gang_scheduler.model.suspended import SuspendedFor, TemplateEdit
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler.turns.requests import Requests
from support import builders
from support.api_objects import node_body, pod_group_body
from support.suspended_jobs import NOW, START, Body, Cluster, job, our_queue, pod_of, template

OTHERS_KIND = "example.com/other"
ENDED = {"conditions": [{"type": "Complete", "status": "True"}]}


def started(body: Body) -> Body:
    """Return a Job as the admission leaves it."""
    return job(
        body["metadata"]["name"],
        body["spec"]["parallelism"],
        of=body["spec"]["template"],
        suspend=False,
        admitted_at=START,
    )


def test_a_suspended_job_is_let_start_where_its_gang_fits() -> None:
    cluster = Cluster({"n1": 2, "n2": 2})
    cluster.see(our_queue(), job(pods=3))

    cluster.cycle()

    (admission,) = cluster.writes.admissions
    assert ("Job default/job", "q", (("cpu", "default"),)) == (
        str(admission.workload),
        admission.queue,
        admission.flavors,
    )
    assert ("uid-job", "1") == (admission.workload.uid, admission.workload.resource_version)
    assert [] == cluster.writes.bound


def test_one_without_room_or_quota_waits_and_says_why() -> None:
    cluster = Cluster({"n1": 4})
    cluster.see(our_queue(cpu=8), job("large", 6), our_queue("small", 1))
    cluster.see(job("poor", 2, queue="small"))

    cluster.cycle()

    assert [] == cluster.admitted
    assert {"large": "Unschedulable", "poor": "QuotaExceeded"} == cluster.waiting


def test_room_and_quota_are_kept_until_the_pods_are_there() -> None:
    cluster, first = Cluster({"n1": 4}), job("first", 3)
    cluster.see(our_queue(), first)
    cluster.cycle()

    cluster.see(job("second", 2))
    cluster.cycle(NOW + 1)

    assert ["first"] == cluster.admitted
    assert 3 == cluster.charged
    assert {"second": "Unschedulable"} == cluster.waiting


def test_pods_take_over_the_nodes_that_were_planned_for_them() -> None:
    cluster, first = Cluster({"n1": 2, "n2": 2}), job(pods=4)
    cluster.see(our_queue(), first)
    cluster.cycle()
    planned = cluster.nominated()

    cluster.see(started(first))
    cluster.cache.suspended.admitted("uid-job", NOW)
    cluster.see(*(pod_of(first, index) for index in (3, 0, 2)))
    cluster.cycle(NOW + 2)
    incomplete = list(cluster.writes.bound)
    cluster.see(pod_of(first, 1))
    cluster.cycle(NOW + 3)

    assert [] == incomplete
    (placed,) = cluster.writes.bound
    assert {f"{name}-abcde": node for name, node in planned.items()} == {
        bind.pod.name: bind.node for bind in placed.binds
    }
    assert 4 == cluster.charged
    assert {} == cluster.cache.suspended.holds


def test_pods_that_are_no_gang_take_over_theirs_one_by_one() -> None:
    cluster, plain = Cluster({"n1": 2}), job(pods=2, of=template(gang=False))
    cluster.see(our_queue(), plain)
    cluster.cycle()

    cluster.see(started(plain), pod_of(plain, 0))
    cluster.cycle(NOW + 1)
    cluster.see(pod_of(plain, 1))
    cluster.cycle(NOW + 2)

    assert ["job-0-abcde", "job-1-abcde"] == [
        bind.pod.name for placed in cluster.writes.bound for bind in placed.binds
    ]


def foreign(body: Body) -> Body:
    """Return an object as a tenant writes it into another namespace, with all that it says."""
    metadata = body["metadata"]
    own = {"namespace": "evil", "uid": f"evil-{metadata['uid']}"}
    return {**body, "metadata": {**metadata, **own}}


def test_a_pod_of_another_namespace_takes_over_nothing_whatever_owner_it_names() -> None:
    cluster, first = Cluster({"n1": 2}), job(pods=2)
    cluster.see(our_queue(), first)
    cluster.cycle()
    planned = cluster.nominated()
    cluster.cache.suspended.admitted("uid-job", NOW)
    cluster.see(started(first), foreign(pod_of(first, 0)), foreign(pod_of(first, 1)))

    assert planned == cluster.nominated()
    assert ["uid-job"] == [*cluster.cache.suspended.holds]


def test_no_workload_is_that_of_a_pod_of_another_namespace() -> None:
    cluster, first = Cluster({"n1": 4}), job(pods=1)
    running = {"nodeName": "n1", "schedulerName": builders.SCHEDULER}
    bodies = [{**each, "spec": {**each["spec"], **running}} for each in (pod_of(first, 0),)]
    cluster.see(our_queue(), started(first), *bodies, *map(foreign, bodies))
    cluster.cycle()
    suspended = cluster.cache.suspended

    found = {pod.namespace: suspended.workload_of(pod) for pod in cluster.cache.pods()}
    (workload,) = filter(None, found.values())
    assert {"default": workload, "evil": None} == found
    assert ["default"] == [pod.namespace for pod in suspended.pods_of(workload)]


def test_without_pods_in_time_it_is_suspended_again_and_rests() -> None:
    cluster, first = Cluster(pods_timeout_seconds=10), job()
    cluster.see(our_queue(), first)
    cluster.cycle()
    cluster.cache.suspended.admitted("uid-job", NOW)

    cluster.cycle(NOW + 9)
    in_time = list(cluster.writes.suspensions)
    cluster.cycle(NOW + 10)
    cluster.see(started(first), first)
    cluster.cycle(NOW + 11)
    resting = list(cluster.admitted)
    cluster.cycle(NOW + 10 + 60)

    assert [] == in_time
    assert [("job", SuspendedFor.PODS_MISSING)] == [
        (each.workload.name, each.why) for each in cluster.writes.suspensions
    ]
    assert (["job"], ["job", "job"]) == (resting, cluster.admitted)


def test_one_that_the_api_server_refuses_to_start_waits_as_before() -> None:
    cluster = Cluster()
    cluster.see(our_queue(), job())
    cluster.cycle()

    cluster.cache.suspended.not_admitted("uid-job", ApiAnswer("no"), NOW)

    assert 0 == cluster.charged
    assert {"job": "Unschedulable"} == cluster.waiting
    cluster.cycle(NOW + 60)
    assert ["job", "job"] == cluster.admitted


OWNED = {"apiVersion": "x/v1", "kind": "JobSet", "name": "a", "uid": "b", "controller": True}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(job(queue=""), id="no queue"),
        pytest.param(job(suspend=False), id="never suspended"),
        pytest.param(job(admitted_at=START), id="suspended by a user after its admission"),
        pytest.param(job(of=template(schedulerName="other")), id="another scheduler"),
        pytest.param(job(ownerReferences=[OWNED]), id="part of a larger workload"),
        pytest.param(job(deletionTimestamp=START), id="being deleted"),
        pytest.param({**job(), "spec": {**job()["spec"], "managedBy": OTHERS_KIND}}, id="managed"),
        pytest.param({**job(), "status": ENDED}, id="ended"),
    ],
)
def test_what_is_not_ours_to_start_is_not_touched(body: Body) -> None:
    cluster = Cluster()
    cluster.see(our_queue(), body)

    cluster.cycle()

    assert [] == cluster.admitted
    assert not any(info.observed.living for info in cluster.cache.gang_queue.infos.values())


def test_kinds_that_the_settings_do_not_name_are_not_touched() -> None:
    cluster = Cluster(manage_jobs=("JobSet",))
    cluster.see(our_queue(), job())

    cluster.cycle()

    assert [] == cluster.admitted


def test_a_job_of_a_local_queue_is_left_to_kueue_while_its_controller_runs() -> None:
    body = job(queue="")
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "lq"}
    cluster_queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cq", "uid": "cq", "creationTimestamp": START},
        "spec": {"namespaceSelector": {}},
    }
    cluster = Cluster()
    cluster.cache.serve_queues(Product.KUEUE, served=True)
    cluster.cache.enforce_quota(Product.KUEUE, enforced=False)
    cluster.see(cluster_queue, body)
    cluster.cycle()

    assert {} == cluster.waiting
    cluster.cache.enforce_quota(Product.KUEUE, enforced=True)
    cluster.cycle(NOW + 1)
    assert {"job": "QueueNotFound"} == cluster.waiting


def test_one_that_a_user_starts_is_no_gang_without_pods_any_more() -> None:
    cluster = Cluster({"n1": 1})
    cluster.see(our_queue(), job(pods=2))
    cluster.cycle()

    cluster.see(job(pods=2, suspend=False))
    cluster.cycle(NOW + 1)

    assert {} == cluster.waiting
    infos = cluster.cache.gang_queue.infos.values()
    assert [None] == [info.suspended for info in infos]


def test_one_that_is_deleted_frees_what_was_kept_for_it() -> None:
    cluster, first = Cluster({"n1": 2}), job("first")
    cluster.see(our_queue(), first, job("second", creationTimestamp="2026-01-01T12:00:01Z"))
    cluster.cycle()

    cluster.gone(first)
    cluster.cycle(NOW + 1)

    assert ["first", "second"] == cluster.admitted


def test_a_priority_class_orders_those_that_wait() -> None:
    cluster = Cluster({"n1": 2})
    high = job("high", of=template(priorityClassName="high"))
    high["metadata"]["creationTimestamp"] = "2026-01-01T12:00:30Z"
    cluster.see(our_queue(), job("low"), high)
    cluster.see({"kind": "PriorityClass", "metadata": {"name": "high", "uid": "pc"}, "value": 5})

    cluster.cycle()

    assert ["high"] == cluster.admitted
    assert {"low": "Unschedulable"} == cluster.waiting


def flavor(name: str, **spec: Any) -> Body:
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "ResourceFlavor",
        "metadata": {"name": name, "uid": name, "creationTimestamp": START},
        "spec": spec,
    }


def test_the_labels_of_its_flavor_are_for_its_template() -> None:
    cluster = Cluster()
    flavors = [{"name": "spot", "quota": {"soft": {"cpu": "8"}}}]
    queue = our_queue()
    queue["spec"] = {"flavors": flavors}
    node = {
        "kind": "Node",
        "metadata": {"name": "n2", "uid": "n2", "labels": {"pool": "spot"}},
        "status": {"allocatable": {"cpu": "8", "pods": "10"}},
    }
    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]  # type: ignore[index]
    cluster.see(flavor("spot", nodeLabels={"pool": "spot"}), queue, node, job())

    cluster.cycle()

    (admission,) = cluster.writes.admissions
    assert (TemplateEdit(("spec", "template"), (("pool", "spot"),)),) == admission.edits
    assert (("cpu", "spot"),) == admission.flavors


def test_a_flavor_is_tolerated_whose_tolerations_the_template_gets() -> None:
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    tolerates = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
    cluster, queue = Cluster({"plain": 8}), our_queue()
    queue["spec"] = {"flavors": [{"name": "spot", "quota": {"soft": {"cpu": "8"}}}]}
    labels = {"name": "spot", "uid": "spot", "labels": {"pool": "spot"}}
    spot = node_body("spot", metadata=labels, taints=[taint])
    told = flavor("spot", nodeLabels={"pool": "spot"}, nodeTaints=[taint], tolerations=[tolerates])
    cluster.see(told, queue, spot, job())

    cluster.cycle()

    (admission,) = cluster.writes.admissions
    (edit,) = admission.edits
    assert (Toleration("spot", "Equal", "yes", "NoSchedule"),) == edit.tolerations
    assert {"spot"} == set(cluster.nominated().values())
    first = job(of=template(nodeSelector={"pool": "spot"}, tolerations=[tolerates]))
    cluster.see(started(first), pod_of(first, 0), pod_of(first, 1))
    cluster.cycle(NOW + 1)
    binds = [bind for placed in cluster.writes.bound for bind in placed.binds]
    assert ["spot", "spot"] == [bind.node for bind in binds]


def test_members_that_wait_count_as_asked_of_their_queue() -> None:
    cluster = Cluster({"n1": 1})
    cluster.see(our_queue(cpu=100), job(pods=50))
    cluster.cycle()

    state = cluster.cache.queue_state(NOW)

    assert state is not None
    assert [50_000] == [amount for each in state.usage.asked.values() for amount in each.values()]
    assert 0 == cluster.cache.usage_differences()


def test_pods_that_are_not_created_are_missing_from_no_list() -> None:
    cluster = Cluster()
    cluster.see(our_queue(), job())
    cluster.cycle()

    assert 2 == len(list(cluster.cache.pods()))
    assert set() == set(cluster.cache.pod_store.uids())


def test_the_pods_of_one_that_was_let_start_are_known_as_its_own() -> None:
    cluster, first = Cluster(), started(job())
    cluster.see(our_queue(), first, pod_of(first, 0), pod_of(first, 1))
    pod = cluster.cache.pod("uid-job-0-abcde")
    assert pod is not None

    workload = cluster.cache.suspended.workload_of(pod)

    assert workload is not None
    assert ("Job", "job", "uid-job") == (workload.kind, workload.name, workload.uid)
    pods = cluster.cache.suspended.pods_of(workload)
    assert ["job-0-abcde", "job-1-abcde"] == sorted(each.name for each in pods)


def shapes() -> list[Body]:
    """Return Jobs that ask for quota in different ways, some of which can never have it."""
    spot = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["spot"]}]}
            ]
        }
    }
    return [
        job("small", 2),
        job("large", 6),
        job("too-large", 60),
        job("plain", 3, of=template(gang=False)),
        job("with-memory", 2, of=template(memory="1Gi")),
        job("picky", 2, of=template(affinity={"nodeAffinity": spot})),
        job("unserved", 2, queue="none-such"),
        job("stopped", 2, queue="stopped"),
        job("next", 2, creationTimestamp="2026-01-01T12:00:01Z"),
    ]


def test_what_jobs_ask_is_the_same_found_by_number_and_with_all_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for by_number in (True, False):
        if not by_number:
            monkeypatch.setattr(Requests, "without_members", lambda *_: None)
        cluster = Cluster({"n1": 5, "n2": 2})
        cluster.see(our_queue(cpu=6), our_queue("stopped", stopPolicy="Hold"), *shapes())
        plans = [cluster.cycle(NOW + number) for number in range(3)]
        refused = [
            (each.gang.key, each.reason, each.cause) for plan in plans for each in plan.refused
        ]
        found.append((cluster.admitted, cluster.nominated(), cluster.waiting, refused))

    assert found[0] == found[1]
    assert ["large"] == found[0][0]


def of_group(name: str) -> Body:
    """Return a Job of two pods that are in the PodGroup `both`, whatever else is."""
    made = template(gang=False)
    made["metadata"]["labels"] = {builders.POD_GROUP_LABEL: "both"}
    return job(name, 2, of=made)


def test_two_workloads_that_wait_suspended_in_one_gang_are_refused() -> None:
    cluster = Cluster({"n1": 8})
    cluster.see(our_queue(), pod_group_body("both", min_member=2), of_group("a"))

    cluster.see(of_group("b"))
    cluster.cycle()

    assert [] == cluster.admitted
    (info,) = cluster.cache.gang_queue.infos.values()
    assert info.verdict.refusal is not None
    assert "InvalidSpec" == info.verdict.refusal.reason.value
    told = describe(info.verdict.refusal)
    assert "Job default/a and Job default/b wait suspended in the same gang" in told


@pytest.mark.parametrize(("gone", "left"), [("a", "b"), ("b", "a")])
def test_the_one_that_is_left_of_two_in_a_gang_is_let_start(gone: str, left: str) -> None:
    cluster = Cluster({"n1": 8})
    cluster.see(our_queue(), pod_group_body("both", min_member=2), of_group("a"), of_group("b"))
    cluster.cycle()

    cluster.gone(of_group(gone))
    cluster.cycle(NOW + 1)

    assert [left] == cluster.admitted
