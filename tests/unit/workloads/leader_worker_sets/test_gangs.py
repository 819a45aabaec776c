"""Groups of LeaderWorkerSets, by their pods and by what the object adds."""

from collections.abc import Iterable
from typing import Any

import pytest

from gang_scheduler.api.annotations import JOB_GANG_LABEL, NETWORK_TOPOLOGY_SPEC
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import leader_worker_sets
from support import decoded
from support.api_objects import pod_body

PREFIX = leader_worker_sets.PREFIX
POD_TEMPLATE = {"spec": {"containers": [{"resources": {"requests": {"cpu": 2}}}]}}


def pod(index: int, size: str = "3", **labels: str) -> Pod:
    written = {
        f"{PREFIX}name": "set",
        f"{PREFIX}group-index": "1",
        f"{PREFIX}group-key": "k",
        f"{PREFIX}worker-index": str(index),
    }
    annotations = {f"{PREFIX}size": size} if size else {}
    metadata = {"labels": {**written, **labels}, "annotations": annotations}
    return decoded.pod(pod_body(f"set-1-{index}", metadata=metadata))


def set_body(*, size: int = 3, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "set", "namespace": "default", "uid": "u", "labels": labels or {}}
    template = {"size": size, "workerTemplate": POD_TEMPLATE}
    return {"metadata": metadata, "spec": {"leaderWorkerTemplate": template, **spec}}


def gang_of(pods: Iterable[Pod], *described: GangSpec) -> GangSpec:
    pods = tuple(pods)
    found = leader_worker_sets.by_members(pods[0].gang, pods, *(described or (None,)))
    assert found is not None
    return found


def described(**fields: Any) -> GangSpec:
    return leader_worker_sets.read(set_body(replicas=2, **fields)).gang_specs[1]


def test_a_group_is_named_after_its_set_and_index() -> None:
    assert ("LeaderWorkerSet", "set/1") == (pod(0).gang.source, pod(0).gang.name)


def test_without_these_labels_it_is_named_by_its_key() -> None:
    metadata = {"labels": {f"{PREFIX}group-key": "k"}}

    assert "k" == decoded.pod(pod_body("a", metadata=metadata)).gang.name


@pytest.mark.parametrize(("index", "role"), [(0, "leader"), (1, "worker"), (10, "worker")])
def test_the_member_with_index_0_leads(index: int, role: str) -> None:
    assert (role, (1, index)) == (pod(index).role, pod(index).rank)


def test_the_size_is_the_quorum_with_a_minimum_for_each_role() -> None:
    gang = gang_of([pod(1)])

    assert (3, (Role("leader", 1, 1), Role("worker", 2, 2))) == (gang.min_member, gang.roles)


def test_a_group_of_one_has_no_workers() -> None:
    assert (Role("leader", 1, 1),) == gang_of([pod(0, size="1")]).roles
    assert 1 == gang_of([pod(0, size="")]).min_member


def test_a_size_that_is_no_number_is_a_problem() -> None:
    problem = gang_of([pod(0, size="0")]).problem

    assert problem is not None
    assert text_of(problem.cause).endswith('must be a whole number of at least 1, not "0"')


def test_a_set_of_which_leaders_and_workers_come_at_once_adds_nothing() -> None:
    assert () == leader_worker_sets.read(set_body()).gang_specs
    assert () == leader_worker_sets.read(set_body(startupPolicy="LeaderReady", size=1)).gang_specs


def test_a_leader_that_comes_first_starts_with_room_for_all() -> None:
    gang = gang_of([pod(0)], described(startupPolicy="LeaderReady"))

    assert (1, (Role("leader", 1, 1), Role("worker", 0, 2))) == (gang.min_member, gang.roles)
    assert (("cpu", 6000), ("pods", 3)) == gang.min_resources


def test_workers_that_have_come_are_needed() -> None:
    gang = gang_of([pod(0), pod(1)], described(startupPolicy="LeaderReady"))

    assert (3, ()) == (gang.min_member, gang.min_resources)


def test_a_set_says_its_queue() -> None:
    said = described(labels={"kueue.x-k8s.io/queue-name": "q"})

    expected = QueueRequest((QueueName(QueueNameKind.LOCAL_QUEUE, "q"),))
    assert expected == gang_of([pod(0)], said).queue_request


def asking(layer: str) -> dict[str, Any]:
    text = f'{{"gatherStrategy": [{{"layer": "{layer}", "strategy": "MustGather"}}]}}'
    return {"annotations": {NETWORK_TOPOLOGY_SPEC: text}}


def test_a_set_says_for_all_of_its_pods_where_they_gather() -> None:
    body = set_body(replicas=2)
    body["metadata"] |= asking("rack")

    (_, said) = leader_worker_sets.read(body).gang_specs

    request = gang_of([pod(0)], said).topology_request
    assert request is not None
    assert ["rack"] == [each.name for each in request.must]


def test_what_a_set_and_its_template_say_must_be_the_same() -> None:
    body = set_body(replicas=2)
    body["metadata"] |= asking("rack")
    body["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {"metadata": asking("row")}

    (_, said) = leader_worker_sets.read(body).gang_specs

    problem = gang_of([pod(0)], said).problem
    assert problem is not None
    assert "must be the same" in text_of(problem.cause)


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({JOB_GANG_LABEL: "false"}, "belongs in the labels of the pod templates"),
        ({"py-gang-scheduler.io/gangs": "true"}, f"did you mean {JOB_GANG_LABEL}?"),
    ],
)
def test_what_a_set_asks_for_in_vain_is_reported(labels: dict[str, str], wrong: str) -> None:
    problem = gang_of([pod(0)], described(labels=labels)).problem

    assert problem is not None
    assert wrong in text_of(problem.cause)


def test_an_unreadable_quantity_is_reported() -> None:
    wrong = {"spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}
    body = set_body(startupPolicy="LeaderReady")
    body["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = wrong

    with pytest.raises(InvalidField, match="requests"):
        leader_worker_sets.read(body)


def test_a_member_without_the_index_of_the_webhook_says_what_is_missing() -> None:
    metadata = {
        "labels": {f"{PREFIX}name": "set", f"{PREFIX}group-index": "1", f"{PREFIX}group-key": "k"},
        "annotations": {f"{PREFIX}size": "3"},
    }
    problem = gang_of([pod(0), decoded.pod(pod_body("bare", metadata=metadata))]).problem

    assert problem is not None
    expected = (
        f"pod default/bare: metadata.labels[{PREFIX}worker-index] is missing, which the webhook of "
        "LeaderWorkerSet writes"
    )
    assert expected == text_of(problem.cause)


def test_the_size_is_what_an_elastic_range_contradicts() -> None:
    elastic = {"py-gang-scheduler.io/elastic": '{"minWorkers": 2, "maxWorkers": 4}'}
    annotations = {f"{PREFIX}size": "3", **elastic}
    labels = {f"{PREFIX}group-key": "k", f"{PREFIX}worker-index": "0"}
    member = decoded.pod(pod_body("a", metadata={"labels": labels, "annotations": annotations}))
    problem = gang_of([member]).problem

    assert problem is not None
    assert text_of(problem.cause).startswith(f"metadata.annotations[{PREFIX}size] must be ")
