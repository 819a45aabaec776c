"""What cannot be read any more goes on holding what it held, and nothing is decided for it."""

from typing import Any

from gang_scheduler.api.kinds import JOBS, POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.model import refs
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER, gang_key

UNREADABLE = [{"resources": {"requests": {"cpu": "99999999999999999999x"}}}]
SPEC = '{"gatherStrategy": [{"layer": "Rack", "strategy": "MustGather"}]}'


class Harness:
    """Event handlers that end in a cache."""

    def __init__(self) -> None:
        self._left_out = LeftOutObjects()
        self.cache = Cache([SCHEDULER], Changes())
        self.event_handlers = cache_feeding.event_handlers(self.cache, self._left_out)

    def pod(self, body: Any) -> None:
        """Show a pod."""
        self.event_handlers.of(PODS).handle({"type": "MODIFIED", "object": body})

    def room_of(self, node: str) -> list[str]:
        """Return the names of the pods that are counted on a node."""
        return sorted(pod.name for pod in self.cache.pods() if pod.node == node)

    def problem_of(self, source: str, name: str) -> Problem | None:
        """Return what is wrong with a gang."""
        gang_spec = self.cache.gang_queue.infos[GangKey(source, "default", name)].observed.spec
        return gang_spec.problem if gang_spec else None

    def told(self) -> list[str]:
        """Return what was left out since the last time, and why."""
        return [f"{each.kind}: {each.why}" for each in self._left_out.take_all()]


def test_a_pod_on_a_node_goes_on_being_counted() -> None:
    harness = Harness()
    harness.pod(pod_body("a", nodeName="n1"))
    before = harness.cache.pod("uid-a")

    harness.pod(pod_body("a", nodeName="n1", priority="high"))

    assert ["n1"] == [pod.node for pod in harness.cache.pods()]
    assert before is not None
    assert before.pod_class == next(iter(harness.cache.pods())).pod_class
    assert ['Pod: spec.priority must be a whole number or absent, not "high"'] == harness.told()


def test_a_pod_that_was_bound_meanwhile_is_counted_where_it_is() -> None:
    harness = Harness()
    harness.pod(pod_body("a"))

    harness.pod(pod_body("a", nodeName="n1", priority="high"))

    assert ["a"] == harness.room_of("n1")


def test_a_pod_on_a_node_that_could_never_be_read_counts_as_one() -> None:
    harness = Harness()

    harness.pod(pod_body("a", nodeName="n1", priority="high"))

    assert [(("pods", 1),)] == [pod.pod_class.requests for pod in harness.cache.pods()]
    assert ["a"] == harness.room_of("n1")


def test_a_pod_that_ended_is_counted_no_more() -> None:
    harness = Harness()
    harness.pod(pod_body("a", nodeName="n1"))

    harness.pod({**pod_body("a", nodeName="n1", priority="high"), "status": {"phase": "Succeeded"}})

    assert [True] == [pod.terminal for pod in harness.cache.pods()]


def test_a_pod_that_waits_is_a_member_with_a_problem() -> None:
    harness = Harness()
    harness.pod(pod_body("a", gang="g"))

    harness.pod(pod_body("a", gang="g", containers=UNREADABLE))

    (found,) = harness.cache.pods()
    assert found.problem is not None
    assert (gang_key("g"), Reason.INVALID_SPEC) == (found.gang, found.problem.reason)
    assert (
        "pod default/a: spec.containers[0].resources.requests.cpu must be a quantity, "
        'not "99999999999999999999x"'
    ) == text_of(found.problem.cause)


def test_the_gang_of_a_member_that_cannot_be_read_waits_and_says_so() -> None:
    harness = Harness()
    harness.event_handlers.of(POD_GROUPS).handle({"type": "ADDED", "object": pod_group()})
    for name, containers in (("a", None), ("b", None), ("c", UNREADABLE)):
        harness.pod(pod_body(name, gang="g", containers=containers))

    (group,) = harness.cache.snapshot(0).groups

    (gang,) = group.gangs
    assert ["a", "b", "c"] == [pod.name for pod in gang.pending]
    assert gang.problem is not None
    assert text_of(gang.problem.cause).startswith("pod default/c: spec.containers[0].resources.")


def test_a_pod_that_waits_with_an_unreadable_status_is_a_member_too() -> None:
    harness = Harness()

    harness.pod({**pod_body("a", gang="g"), "status": {"phase": "Odd"}})

    assert [(gang_key("g"), True)] == [
        (pod.gang, pod.problem is not None) for pod in harness.cache.pods()
    ]


def test_a_pod_whose_metadata_cannot_be_read_is_left_out() -> None:
    harness = Harness()

    harness.pod(pod_body("a", metadata={"labels": [1]}))

    assert [] == list(harness.cache.pods())


def test_an_unreadable_pod_that_is_deleted_is_gone() -> None:
    harness = Harness()
    body = pod_body("a", nodeName="n1", priority="high")
    harness.pod(body)

    harness.event_handlers.of(PODS).handle({"type": "DELETED", "object": body})

    assert [] == list(harness.cache.pods())


def pod_group(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "metadata": {"uid": "g", "namespace": "default", "name": "g", **metadata},
        "spec": {"minMember": 2},
    }


def test_a_pod_group_that_becomes_unreadable_is_invalid_and_not_without_topology() -> None:
    harness = Harness()
    key = "gang.scheduling.koordinator.sh/network-topology-spec"
    harness.event_handlers.of(POD_GROUPS).handle(
        {"type": "ADDED", "object": pod_group(annotations={key: SPEC})}
    )
    before = harness.problem_of(refs.POD_GROUP.name, "g")

    wrong: tuple[Any, ...] = ({key: {"gatherStrategy": []}}, [SPEC], {key: SPEC, "a": 5})
    for annotations in wrong:
        harness.event_handlers.of(POD_GROUPS).handle(
            {"type": "MODIFIED", "object": pod_group(annotations=annotations)}
        )

        found = harness.problem_of(refs.POD_GROUP.name, "g")
        assert found is not None
        assert Reason.INVALID_SPEC is found.reason
        assert "metadata.annotations" in text_of(found.cause)

    assert before is None


def test_a_job_that_becomes_unreadable_is_invalid() -> None:
    harness = Harness()
    job = {"apiVersion": "batch/v1", "metadata": {"uid": "j", "namespace": "default", "name": "j"}}
    harness.event_handlers.of(JOBS).handle(
        {"type": "ADDED", "object": {**job, "spec": {"parallelism": "two"}}}
    )

    found = harness.problem_of(refs.JOB.name, "j")
    assert found is not None
    assert 'spec.parallelism must be a whole number, not "two"' == text_of(found.cause)
    assert ["j"] == list(cache_feeding.uids(harness.cache, JOBS))


def test_a_budget_that_becomes_unreadable_goes_on_protecting() -> None:
    harness = Harness()
    budget = {
        "metadata": {"uid": "b", "namespace": "default", "name": "b"},
        "spec": {"selector": {}, "minAvailable": 1},
    }
    harness.event_handlers.of(POD_DISRUPTION_BUDGETS).handle({"type": "ADDED", "object": budget})

    harness.event_handlers.of(POD_DISRUPTION_BUDGETS).handle(
        {"type": "MODIFIED", "object": {**budget, "spec": "none"}}
    )

    assert ["b"] == list(cache_feeding.uids(harness.cache, POD_DISRUPTION_BUDGETS))
    assert ['PodDisruptionBudget: spec must be an object, not "none"'] == harness.told()


def test_an_object_without_a_uid_is_reported_and_nothing_else() -> None:
    harness = Harness()
    nameless = pod_body("a", nodeName="n1")
    del nameless["metadata"]["uid"]

    harness.pod(nameless)
    harness.pod({**nameless, "metadata": "none"})

    assert [] == list(harness.cache.pods())
    expected = ["metadata.uid is required", 'metadata must be an object, not "none"']
    assert [f"Pod: {problem}" for problem in expected] == harness.told()
