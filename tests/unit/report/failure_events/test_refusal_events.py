"""The Events of pods that a kubelet has not taken: once, where they still matter."""

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.events import About
from gang_scheduler.report.failure_events import KUBELET_REFUSED, RefusalEvents
from gang_scheduler.state.nodes import REFUSED_SECONDS, RefusedShapes
from support.builders import pod
from support.gang_queue_builders import NOW

REFUSED = revised(pod("p", node="n", gang="g"), refused="OutOfcpu", started_at=NOW)


class Recorded:
    """What was recorded."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str, bool]] = []

    def record(self, about: About, reason: str, note: str, *, warning: bool = False) -> None:
        """Keep what is told."""
        self.told.append((about.name, reason, note, warning))


def about(key: GangKey, _: Pod) -> About:
    return About("v1", "PodGroup", key.namespace, key.name, "uid")


def told(shapes: RefusedShapes, now: int) -> list[tuple[str, str, str, bool]]:
    recorded = Recorded()
    events = RefusalEvents(shapes, recorded, about)  # type: ignore[arg-type]
    shapes.settle(now)
    events.tell()
    events.tell()
    return recorded.told


def test_one_event_of_the_gang_says_which_node_refused_which_pod() -> None:
    shapes = RefusedShapes()
    shapes.note(REFUSED, "n", REFUSED.gang)

    note = (
        "The kubelet of node n refused pod default/p (OutOfcpu): no pod with the same requests "
        "goes there until a pod leaves it, or for 10 minutes"
    )
    assert [("g", KUBELET_REFUSED, note, True)] == told(shapes, NOW)


def test_what_is_over_is_not_reported() -> None:
    shapes = RefusedShapes()
    shapes.note(REFUSED, "n", REFUSED.gang)

    assert [] == told(shapes, NOW + REFUSED_SECONDS)
