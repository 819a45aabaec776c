"""Pods of low priority on full nodes, and a gang that needs their room."""

from gang_scheduler.api.kinds import PODS
from support.scheduler_process import FakeWorkloads

NAMESPACE = "default"
MEMBERS = 2
VICTIMS = 4
STAGES = ("nominate", "patch_pod_condition", "delete_pod", "bind")
NUMBERS = (MEMBERS, VICTIMS, VICTIMS, MEMBERS)
HELD = ("example.com/held",)


def workloads(*, high: int = MEMBERS, held: bool = False, priority: int = 1) -> FakeWorkloads:
    """Return two full nodes, the cheaper gang on n1, and a gang that is worth more than both."""
    made = FakeWorkloads("n1", "n2")
    finalizers = HELD if held else ()
    made.gang("low", VICTIMS, priority=priority, node="n1", finalizers=finalizers)
    made.gang("mid", VICTIMS, priority=5, node="n2")
    made.gang("high", high, priority=10)
    return made


def let_go(made: FakeWorkloads, *names: str) -> None:
    """Let pods that terminate be gone."""
    for name in names:
        made.cluster.remove(PODS, NAMESPACE, name)


def is_bound(made: FakeWorkloads) -> bool:
    """Return whether the gang that others make room for has it."""
    return bool(made.nodes("high")) and all(made.nodes("high"))


def assert_the_right_ones_went(made: FakeWorkloads) -> None:
    """Check that the cheaper gang has made room, and that nothing else has changed."""
    assert ["n1"] * MEMBERS == made.nodes("high")
    assert ["n2"] * VICTIMS == made.nodes("mid")
    assert [] == made.nodes("low")
    assert ([], {}) == (made.marked(), made.nominated())
