"""A gang is recorded once when it is complete, and once when it ends."""

from typing import Any

import pytest

from gang_scheduler.recording.file_format import End, Gang
from gang_scheduler.recording.gangs import Gangs
from support.in_memory_cluster import START, InMemoryCluster, group_body

GPU = "nvidia.com/gpu"


class Recorded:
    """A cluster whose gangs are recorded."""

    def __init__(self, cpu: int = 100) -> None:
        self.cluster = InMemoryCluster(cpu)
        self.gangs = Gangs(self.cluster.cache)

    def look(self, later: int = 0) -> list[Gang | End]:
        """Let the scheduler decide, so many seconds later, and return what is new."""
        self.cluster.cycle(later)
        queue = self.cluster.cache.gang_queue
        keys = set(queue.changed)
        queue.changed.clear()
        lines = self.gangs.lines(keys, self.cluster.now)
        return [each.gang or each.ended for each in lines]  # type: ignore[misc]

    def begun(self, later: int = 0) -> Gang:
        """Return the one gang that is new."""
        (found,) = self.look(later)
        assert isinstance(found, Gang)
        return found

    def ended(self, later: int = 0) -> End:
        """Return the one end that is new."""
        (found,) = self.look(later)
        assert isinstance(found, End)
        return found


def asks(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


def test_a_gang_is_recorded_once_it_is_complete() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2, pods=1)
    assert [] == recorded.look()

    recorded.cluster.pod("train-1", "train")
    found = recorded.begun(later=5)

    assert ("default", "train", 2, 2, "1") == (
        *(found.namespace, found.name, found.pods, found.least, found.cpu),
    )
    assert [] == recorded.look(later=60)


def test_a_gang_says_what_its_pods_ask_for() -> None:
    recorded = Recorded()
    recorded.cluster.put(group_body("train", 2))
    spec = {
        **asks(**{GPU: "8", "cpu": "500m", "memory": "64Gi"}),
        "nodeSelector": {"nvidia.com/gpu.product": "H100"},
        "priority": 7,
        "priorityClassName": "high",
    }
    labels = {"py-gang-scheduler.io/user": "jo"}
    recorded.cluster.members("train", 2, spec=spec, labels=labels)
    found = recorded.begun()

    assert (8, "500m", "64Gi", "H100") == (found.gpu, found.cpu, found.memory, found.gpu_type)
    assert (7, "high", "jo") == (found.priority, found.priority_class, found.user)


def test_of_pods_of_several_sizes_those_count_that_most_is_asked_of() -> None:
    recorded = Recorded()
    recorded.cluster.put(group_body("train", 4))
    recorded.cluster.members("train", 3, spec=asks(**{GPU: "8"}))
    recorded.cluster.pod("launcher", "train", spec=asks(cpu="2"))
    found = recorded.begun()

    assert (8, 3, 3, 1) == (found.gpu, found.pods, found.least, found.others)


def test_what_it_asks_of_the_network_and_how_long_it_runs_is_recorded() -> None:
    recorded = Recorded()
    key = "gang.scheduling.koordinator.sh/network-topology-spec"
    asked = '{"gatherStrategy": [{"layer": "RackLayer", "strategy": "PreferGather"}]}'
    body = group_body("train", 1)
    lasts = {"py-gang-scheduler.io/expected-duration": "2h", key: asked}
    metadata = {**body["metadata"], "annotations": lasts}
    recorded.cluster.put({**body, "metadata": metadata})
    recorded.cluster.members("train", 1)
    found = recorded.begun()

    assert (7200, "RackLayer?") == (found.limit, found.topology)


def test_the_end_says_when_it_started_last() -> None:
    recorded = Recorded(cpu=2)
    recorded.cluster.gang("first", 2)
    recorded.cluster.gang("train", 2)
    recorded.look()
    for number in range(2):
        recorded.cluster.end(f"first-{number}", "Succeeded")
    first = recorded.ended(later=30)
    recorded.look(later=1)
    for number in range(2):
        recorded.cluster.end(f"train-{number}", "Succeeded")
    train = recorded.ended(later=9)

    assert ("Finished", START) == (first.state, first.started)
    assert ("Finished", START + 30) == (train.state, train.started)
    assert 0 == train.evictions


def test_a_gang_that_is_deleted_while_it_waits_never_started() -> None:
    recorded = Recorded(cpu=1)
    recorded.cluster.gang("train", 2)
    recorded.look()
    for number in range(2):
        recorded.cluster.gone(f"train-{number}")
    assert [] == recorded.look(later=1)
    recorded.cluster.delete(group_body("train", 2))

    end = recorded.ended(later=1)
    assert ("Deleted", None) == (end.state, end.started)


def test_a_gang_that_is_deleted_stopped_when_its_pods_went() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    recorded.look(later=1)
    for number in range(2):
        recorded.cluster.gone(f"train-{number}")
    recorded.look(later=99)
    recorded.cluster.delete(group_body("train", 2))
    end = recorded.ended(later=500)

    assert ("Deleted", START + 100, 0) == (end.state, end.stopped, end.evictions)


def test_an_eviction_is_counted_and_the_last_run_is_the_one() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    recorded.look(later=1)
    for number in range(2):
        recorded.cluster.gone(f"train-{number}")
    recorded.look(later=50)
    recorded.cluster.members("train", 2)
    recorded.look(later=50)
    recorded.look(later=1)
    for number in range(2):
        recorded.cluster.end(f"train-{number}", "Succeeded")
    end = recorded.ended(later=7)

    assert ("Finished", 1, None) == (end.state, end.evictions, end.stopped)
    assert end.started is not None
    assert START + 101 <= end.started <= START + 102


def test_more_pods_that_come_later_are_reported_with_the_end() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    recorded.cluster.pod("train-2", "train")
    recorded.look(later=1)
    for number in range(3):
        recorded.cluster.end(f"train-{number}", "Succeeded")

    assert 3 == recorded.ended(later=1).pods


def test_a_gang_that_had_ended_before_is_not_recorded() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.cluster.cycle()
    for number in range(2):
        recorded.cluster.end(f"train-{number}", "Succeeded")

    assert [] == recorded.look(later=1)


def test_a_gang_of_another_scheduler_is_not_recorded() -> None:
    recorded = Recorded()
    recorded.cluster.pod("other", spec={"schedulerName": "default-scheduler"})

    assert [] == recorded.look()


def test_a_failed_gang_that_comes_back_is_recorded_again() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    for number in range(2):
        recorded.cluster.end(f"train-{number}")
    failed = recorded.ended(later=9)
    assert [] == recorded.look(later=1)
    recorded.cluster.members("train", 2)
    again = recorded.begun(later=20)

    assert "Failed" == failed.state
    assert (2, START + 30) == (again.id, again.submit)


def test_gangs_of_equal_age_are_recorded_by_name() -> None:
    recorded = Recorded()
    for name in ("b", "a", "c"):
        recorded.cluster.gang(name, 1)

    names = [each.name for each in recorded.look() if isinstance(each, Gang)]
    assert ["a", "b", "c"] == names


def test_in_another_file_all_that_is_there_is_recorded_again() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    recorded.look(later=1)
    recorded.gangs.start_over()
    keys = recorded.cluster.cache.gang_queue.infos.keys()
    (line,) = recorded.gangs.lines(keys, recorded.cluster.now + 100)
    for number in range(2):
        recorded.cluster.end(f"train-{number}", "Succeeded")
    end = recorded.ended(later=200)

    assert line.gang is not None
    assert (1, 1) == (line.gang.id, end.id)
    assert end.started is not None
    assert end.started <= START + 1


@pytest.mark.parametrize("number", [1, 3])
def test_pods_that_are_no_gang_are_recorded_one_by_one(number: int) -> None:
    recorded = Recorded()
    for each in range(number):
        recorded.cluster.pod(f"single-{each}")

    assert number == len(recorded.look())


def test_a_gang_that_is_incomplete_in_the_next_file_is_known_once_it_is_complete() -> None:
    recorded = Recorded()
    recorded.cluster.gang("train", 2)
    recorded.look()
    recorded.look(later=1)
    recorded.cluster.gone("train-1")
    recorded.look(later=10)
    recorded.gangs.start_over()
    assert [] == recorded.look(later=20)
    recorded.cluster.pod("train-1", "train")
    again = recorded.begun(later=30)

    assert (1, START) == (again.id, again.submit)
