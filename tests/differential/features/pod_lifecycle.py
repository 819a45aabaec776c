"""Pods that are ending, ended or on a node that is gone, and pods that may not start yet."""

from differential.worlds import Drawn, Feature, World, modest, plain


def _various(world: World) -> None:
    """Mark that bound pods lead various lives; the pods are drawn later."""
    world.notes["various"] = True


def live(world: World, pod: Drawn) -> None:
    """Let a bound pod be deleted, over, unknown, or on a node that is gone."""
    if not world.notes.get("various") or world.chance(0.4):
        return
    kind = world.dice.choice(["deleted", "Succeeded", "Failed", "Unknown", "Running", "lost"])
    if kind == "deleted":
        pod.deleted = True
    elif kind == "lost":
        pod.spec["nodeName"] = "nowhere"
    else:
        pod.status["phase"] = kind


def _gate(world: World, pod: Drawn) -> None:
    if pod.waits and world.chance(0.5):
        pod.spec["schedulingGates"] = [{"name": "example.com/wait"}]


FEATURES = (
    Feature("lives", _various, modest),
    Feature("gates", plain, _gate),
)
