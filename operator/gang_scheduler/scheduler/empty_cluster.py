"""Whether a group would fit the empty cluster. If it would not, it waits for ever.

The empty cluster has all nodes as they are now: allocatable resources, labels, taints, cordons and
readiness. Its only pods are pinned: pods of DaemonSets and mirror pods, which come back to the same
node. All other pods may end some day, whatever their priority and scheduler. Claims and volumes are
as they are, and no pod uses one.

The answer is given only for a group without any pod on a node: other groups must join their running
members. It is also left out if members ask for other pods near them, or for claims that do not
exist or have no volume yet: the group may fit once those are there.

Nothing here touches the trial of the cycle, or its looks. A finding depends only on the group, the
nodes, the pinned pods and the trees, and is kept while these stay the same. Kept findings count
with the looks they once took, so that the same snapshot gives the same plan.
"""

import functools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import IfEmpty
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import effort, spare_nodes
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, with_quorum
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.trial import Trial, shares

MOST_LOOKS: Final = 2_000
"""Looks for these searches in one cycle; later groups get no answer."""
SPENT: Final = effort.MOST_LOOKS - 800
"""These looks count as used when a search begins, so that 400 are left: 20 milliseconds."""
WORK: Final = 800
"""A search also stops after this much work of any kind, in looks."""
MANY_CLASSES: Final = 50
"""From this many classes on, it is checked first whether each member can have its own node."""
MOST_KEPT: Final = 20_000
"""At most this many findings are kept, including those that no cycle has searched yet."""


@dataclass(slots=True, eq=False)
class Finding:
    """The result of a search, and the looks that it took.

    `verdict` is None if the search cannot say. `searched` is false as long as no cycle had looks
    left for it.
    """

    verdict: IfEmpty | None = None
    looks: int = 0
    searched: bool = False


NO_VERDICT: Final = Finding(searched=True)


class EmptyCluster:
    """Answers for the groups of one cycle whether they would fit the empty cluster."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        self._snapshot = snapshot
        self._profile = profile
        self._looks_left = MOST_LOOKS
        self._counted = {NO_VERDICT}
        basis = snapshot.pinned, snapshot.tree_specs, snapshot.failed_nodes, profile
        self._kept = snapshot.nodes.cached(IfEmpty, _Kept).on(basis)
        # Volumes and devices change without notice, so a finding that depends on claims of them is
        # kept for one cycle only.
        self._of_claims = _Findings()

    def would_fit(
        self, group: GangGroup, options: Iterable[Sequence[PlacementUnit] | None]
    ) -> IfEmpty | None:
        """Return whether the quorums of a waiting group would fit; None if that is unknown.

        `options` are the units of the group, on all nodes or on the nodes of some flavors: one
        option that fits is enough. None stands for options that there was no time for. Similar
        units are searched once, and the same units looked up once: a group that keeps waiting costs
        one look into a dict.
        """
        found: IfEmpty | None = IfEmpty.TOO_LARGE
        for units in options:
            verdict = self._would_fit(group, units) if units else IfEmpty.NOT_SEARCHED
            if verdict is IfEmpty.FITS:
                return verdict
            if found is IfEmpty.TOO_LARGE or verdict is None:
                found = verdict
        return found

    def fits(self, group: GangGroup, options: Iterable[Sequence[PlacementUnit]]) -> IfEmpty | None:
        """Return the answer for a group that fits once some pods leave: nothing is searched."""
        alone = any(_is_alone(group, with_quorum(units)) for units in options)
        return IfEmpty.FITS if alone else None

    def _would_fit(self, group: GangGroup, units: Sequence[PlacementUnit]) -> IfEmpty | None:
        finding = self._kept.by_unit.get(units[0]) or self._finding(group, units)
        if finding in self._counted:
            return finding.verdict
        if self._looks_left <= 0:
            return IfEmpty.NOT_SEARCHED
        if not finding.searched:
            self._search(with_quorum(units), finding)
        self._looks_left -= finding.looks
        self._counted.add(finding)
        return finding.verdict

    def _finding(self, group: GangGroup, units: Sequence[PlacementUnit]) -> Finding:
        asked = with_quorum(units)
        on_claims = any(
            pod_class.storage or pod_class.devices for unit in asked for pod_class in unit.classes
        )
        findings = self._of_claims if on_claims else self._kept
        found = NO_VERDICT
        if _is_alone(group, asked):
            found = findings.by_question.setdefault(_question(asked), Finding())
        if not on_claims:
            findings.by_unit[units[0]] = found
        return found

    def _search(self, asked: Sequence[PlacementUnit], finding: Finding) -> None:
        trial = self._trial
        trial.effort = Effort(spent=SPENT, work=WORK)
        if self._fit(asked):
            finding.verdict = IfEmpty.FITS
        elif trial.effort.ever_cut_off:
            finding.verdict = IfEmpty.NOT_SEARCHED
        elif not _awaits_others(asked):
            finding.verdict = IfEmpty.TOO_LARGE
        classes = sum(len(unit.classes) for unit in asked)
        looks = trial.effort.spent - SPENT + effort.looks(len(trial.nodes), classes)
        finding.looks = max(looks, round(trial.effort.done))
        finding.searched = True

    def _fit(self, asked: Sequence[PlacementUnit]) -> bool:
        """Return whether the quorums fit together; False also if the search was cut off before."""
        trial, profile, unit = self._trial, self._profile, asked[0]
        is_plain = len(asked) == len(unit.classes) == 1 and unit.scope is None
        if is_plain and not interdependent.depend_on_each_other(unit.classes, trial, profile):
            # Their nodes do not matter here.
            (pod_class,) = unit.classes
            slots = offer_slots(pod_class, trial, profile)
            return int(slots.clip(max=unit.at_least).sum()) >= unit.at_least
        of_many = self._is_a_node_for_each(asked)
        if of_many is not None:
            return of_many
        with trial.all_or_nothing():
            return isinstance(Quorums(trial, profile, explained=False).in_any_order(asked), dict)

    def _is_a_node_for_each(self, asked: Sequence[PlacementUnit]) -> bool | None:
        """Return whether members of many classes fit, if a look at each class alone shows it.

        They do if each member can have a node of its own, and do not if one of them can have none.
        This takes one offer for each class. Placing them takes four.
        """
        sizes: Counter[PodClass] = Counter()
        for unit in asked:
            sizes.update(unit.classes)
        if len(sizes) < MANY_CLASSES or sizes.total() > len(self._trial.nodes):
            return None
        if any(unit.scope is not None or unit.elastic or unit.placed_singly for unit in asked):
            return None
        if any(each.pod_affinity or each.storage or each.devices for each in sizes):
            return None
        numbers = []
        for pod_class, number in sizes.items():
            nodes = int(np.count_nonzero(offer_slots(pod_class, self._trial, self._profile)))
            if not nodes:
                return False
            numbers.append((nodes, number))
        # The class that can be on the fewest nodes chooses first.
        chosen = 0
        for nodes, number in sorted(numbers):
            chosen += number
            if chosen > nodes:
                return None
        return True

    @functools.cached_property
    def _trial(self) -> Trial:
        # A kubelet that refuses a pod now may accept it once other pods have left.
        nodes, volumes = self._snapshot.nodes.refusing_nothing(), self._snapshot.volumes
        unused = replace(volumes, uses={}, lingering=frozenset())
        free = replace(self._snapshot.devices, claims={}, holders={})
        trial = Trial(Snapshot(0, nodes, nodes.allocatable, volumes=unused, devices=free))
        pinned = self._snapshot.pinned.pods
        for share in shares((each, nodes.rows[at]) for each, at in pinned if at in nodes.rows):
            trial.assume(share)
        specs, failed = self._snapshot.tree_specs, self._snapshot.failed_nodes
        empty = Snapshot(0, nodes, nodes.allocatable, tree_specs=specs, failed_nodes=failed)
        trial.keep(spare_nodes.kept(empty, self._profile.rules.gangs.spare_nodes))
        return trial


class _Findings:
    """Findings for an empty cluster, by the requests of a group and by its first unit."""

    def __init__(self) -> None:
        self.by_question: dict[Hashable, Finding] = {}
        self.by_unit: WeakKeyDictionary[PlacementUnit, Finding] = WeakKeyDictionary()


class _Kept:
    """Findings, kept as long as the objects that they depend on are the same."""

    def __init__(self) -> None:
        self._basis: tuple[object, ...] = ()
        self._findings = _Findings()

    def on(self, basis: tuple[object, ...]) -> _Findings:
        """Return the findings; none if an object of the basis has changed."""
        is_other = [id(each) for each in self._basis] != [id(each) for each in basis]
        if is_other or len(self._findings.by_question) > MOST_KEPT:
            self._basis, self._findings = basis, _Findings()
        return self._findings


def _is_alone(group: GangGroup, asked: Sequence[PlacementUnit]) -> bool:
    """Return whether no pod of the group is on a node."""
    if group.started or any(gang.bound or gang.was_whole for gang in group.gangs):
        return False
    return bool(asked) and not any(unit.bound_members for unit in asked)


def _awaits_others(asked: Sequence[PlacementUnit]) -> bool:
    """Return whether members may fit once further pods, claims or volumes exist."""
    storages = (pod_class.storage for unit in asked for pod_class in unit.classes)
    missing = any(each and (each.problem or each.needs) for each in storages)
    needs = (pod_class.devices for unit in asked for pod_class in unit.classes)
    # Devices that failed them may be used again in some minutes.
    missing = missing or any(each and each.avoided for each in needs)
    return missing or any(unit.gains for unit in asked)


def _question(asked: Sequence[PlacementUnit]) -> Hashable:
    """Return all properties of the units on which the answer depends."""
    gangs: dict[GangKey, int] = {}
    for unit in asked:
        for gang in unit.gangs:
            gangs.setdefault(gang.key, len(gangs))
    return tuple((unit.likeness, *(gangs[gang.key] for gang in unit.gangs)) for unit in asked)
