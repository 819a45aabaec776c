"""A binding that is judged once the watches of other kinds have caught up with it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gang_auditor.objects import Pod

if TYPE_CHECKING:
    from gang_auditor.auditor import Limits
    from gang_auditor.world import Change, World


class Binding(NamedTuple):
    """A bound pod, and the pods `beside` it on its node; seen `at`, bound not before `since`."""

    pod: Pod
    at: float
    since: float
    beside: Sequence[Pod]

    def about(self, limits: "Limits") -> tuple[float, float]:
        """Return the begin and the end of the time in which the decision may have been made."""
        return limits.decided(self.since), self.at + limits.skew


def binding_of(pod: Pod, change: "Change", world: "World", limits: "Limits") -> Binding:
    """Return the binding of a pod that a change revealed."""
    beside = counted(pod, change, world, limits)
    return Binding(pod, change.at, change.since, beside)


def counted(pod: Pod, change: "Change", world: "World", limits: "Limits") -> list[Pod]:
    """Return the other pods on the node that the scheduler knew of when it bound a pod.

    These are its own pods, and other pods that were there for longer than the skew.
    """
    known_by = change.since - limits.skew
    return [
        each
        for each in world.on_node(pod.node)
        if each.uid != pod.uid
        and (limits.judges(each) or world.bound_at.get(each.uid, change.at) <= known_by)
    ]
