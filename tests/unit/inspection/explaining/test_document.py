"""What is said of a gang that runs."""

from pathlib import Path

import pytest

from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.explaining.document import Question, document_of, running_of
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.section_lines import View, running_lines
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.settings.policy import Policy
from support import device_objects
from support.degraded_gang import KEY, LATER, NOW, DegradedGang
from support.listed_clusters import document, gang, node
from support.replicas import ReplicasCluster, asked, job


def said_of(gang: DegradedGang, now: int) -> str | None:
    """Return what is said of failed nodes under the gang."""
    cluster = Cluster(gang.cache, Policy(), now, Source.FILES)
    cluster.snapshot()
    made = running_of(gang.cache.gang_queue.infos[KEY], cluster, BoundPods())
    assert made is not None
    return made.degraded


def test_failed_nodes_are_reported() -> None:
    made = DegradedGang()
    made.fails(1)

    assert said_of(made, NOW) is None
    assert "1 of 4 members lack in BlockLayer/s0/b0; failed: node n1 " in (
        said_of(made, LATER) or ""
    )


def test_a_node_that_is_gone_is_reported() -> None:
    made = DegradedGang()
    made.cache.node_usage.delete_node("n1")

    assert "node n1 (gone)" in (said_of(made, LATER) or "")


STOPPED = "spec.parallelism is not changed until the annotation elastic changes: it is 9"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([(1, f"ElasticStopped: {STOPPED}"), (2, "Scheduled: all")], STOPPED),
        (
            [(1, "ElasticFailed: it cannot be changed: 403: denied")],
            "it cannot be changed: 403: denied",
        ),
        ([(1, "ElasticFailed: no"), (2, "ReplicasChanged: From 4 to 6 replicas")], None),
        ([(2, "ElasticFailed: no"), (1, "ReplicasChanged: From 4 to 6 replicas")], "no"),
        ([], None),
    ],
)
def test_a_refused_change_of_the_replicas_is_reported_until_there_is_one(
    events: list[tuple[int, str]], said: str | None
) -> None:
    town = ReplicasCluster(8)
    town.start(job(4, asked(2, 8)))
    (info,) = town.cache.gang_queue.infos.values()
    cluster = Cluster(town.cache, Policy(), town.now, Source.FILES)
    cluster.snapshot()
    told = tuple(Happened(at, what) for at, what in events)
    made = running_of(info, cluster, BoundPods(), told)

    assert made is not None
    assert said == made.replicas_stay


def test_it_is_a_line_of_explain() -> None:
    town = ReplicasCluster(8)
    town.start(job(4, asked(2, 8)))
    (key,) = town.cache.gang_queue.infos
    cluster = Cluster(town.cache, Policy(), town.now, Source.FILES)
    found = document_of(key, Question(cluster, (Happened(1, f"ElasticStopped: {STOPPED}"),)))

    lines = [each.text for each in running_lines(found, View())]
    assert ["4 workers, of 2 to 8", STOPPED] == lines[-2:]


@pytest.mark.parametrize(
    ("conditions", "reason"), [([], "WaitingForDevices"), (["Attached"], None)]
)
def test_a_gang_whose_devices_are_not_attached_yet_waits_for_them(
    tmp_path: Path, conditions: list[str], reason: str | None
) -> None:
    later = device_objects.attached_later("Attached")
    claim = device_objects.allocated(device_objects.claim("c"), "n-0", "gpu-0", pods=("asks-0",))
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    result["bindingConditions"] = ["Attached"]
    true = [{"type": each, "status": "True"} for each in conditions]
    device = {each: result[each] for each in ("driver", "pool", "device")}
    claim["status"]["devices"] = [{**device, "conditions": true}]
    group, member = gang("asks", 1, namespace="default", gpus=0)
    member["metadata"]["uid"] = "uid-asks-0"
    member["spec"]["resourceClaims"] = [device_objects.by_name("c")]
    group["status"] = {
        "conditions": [{"type": "Scheduled", "status": "False", "reason": "WaitingForDevices"}]
    }
    slices = device_objects.resource_slice("n-0", 1, of_device=later)
    bodies = [node("n-0"), device_objects.device_class(), slices, claim, group, member]

    found = document("explain", tmp_path, bodies, "default/asks")

    assert reason == found.get("reason"), found["summary"]
    if reason:
        lacks = "gpu.example.com/n-0/gpu-0 of claim default/c lacks condition Attached"
        assert f"a device is not attached yet: {lacks}" in found["summary"]
