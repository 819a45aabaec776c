"""All rules, in the order in which they get an event. A new rule is one more line here."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from gang_auditor.auditor import Limits, Rule
from gang_auditor.rules.devices import Claims, Devices
from gang_auditor.rules.evictions import Evictions, Spared
from gang_auditor.rules.gangs import Gathering, Groups, Leftovers, Quorum
from gang_auditor.rules.leader import Leader
from gang_auditor.rules.pod_affinity import PodAffinity
from gang_auditor.rules.quotas import Guarantee, Limit
from gang_auditor.rules.room import Bindings, Capacity, Filters, Ports
from gang_auditor.rules.volumes import Volumes


class Making(Protocol):
    """A class that makes a rule; `name` is the name of the rule."""

    name: str

    def __call__(self, limits: Limits) -> Rule:
        """Return a rule that has seen no event yet."""


RULES: Final[Mapping[str, Making]] = {
    each.name: each
    for each in (
        *(Capacity, Ports, Volumes, Devices, Claims, Filters, PodAffinity, Gathering),
        *(Bindings, Quorum, Groups, Leader, Evictions, Spared, Leftovers),
        *(Limit, Guarantee),
    )
}


def rules(limits: Limits, skipped: Collection[str] = ()) -> Sequence[Rule]:
    """Return all rules except skipped ones."""
    return [make(limits) for name, make in RULES.items() if name not in skipped]
