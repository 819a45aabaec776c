"""What is wrong with a placement, by the rules for the conformance data; nothing if all is well.

The verdict must be the one expected. What asks for closeness must get what it requires, and at
every level use no more domains than the expected placement. Names are not compared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conformance import topology_manifests as data
from conformance.simulated import Outcome
from conformance.topology_manifests import Case, Path
from gang_scheduler.model.reasons import Reason

REASONS = {
    "no-fit": Reason.UNSCHEDULABLE,
    "no-domains": Reason.UNSCHEDULABLE,
    "invalid-request": Reason.INVALID_SPEC,
}


class Placements:
    """Where the members of each podset of a case are."""

    def __init__(self, case: Case, outcome: Outcome, *, bare: bool) -> None:
        self.case = case
        self.outcome = outcome
        self._bare = bare
        self._paths = {node["name"]: data.path_of(case, node) for node in data.nodes(case)}

    def of(self, podset: Case) -> Mapping[str, Path]:
        """Return the leaves of the members that were placed now, in rank order."""
        bound = self.outcome.bound
        names = data.members(self.case, podset, bare=self._bare)
        return {name: self._paths[bound[name]] for name in names if name in bound}

    def refusals(self, podset: Case) -> set[tuple[str, str]]:
        """Return the reason and message of each member that waits."""
        names = data.members(self.case, podset, bare=self._bare)
        return {self.outcome.refused[name] for name in names if name in self.outcome.refused}

    def whole(self, podset: Case) -> list[Path]:
        """Return the leaves of all members, in rank order, the older ones with them."""
        leaves = {**data.survivors(self.case, podset), **self.of(podset)}
        names = data.members(self.case, podset, bare=self._bare)
        return [leaves[name] for name in names if name in leaves]


def faults(case: Case, outcome: Outcome, *, bare: bool) -> Iterator[str]:
    """Yield what is wrong, in words."""
    found = Placements(case, outcome, bare=bare)
    for podset in case["podsets"]:
        if data.is_tried(case, podset):
            for fault in _of_podset(podset, found):
                yield f"{podset['name']}: {fault}"
    if not any("failure" in each for each in case["expect"].values()):
        yield from _of_groups(case, found)
    for name in outcome.over_committed():
        yield f"{outcome.bound[name]} cannot take {name}"


def _of_podset(podset: Case, found: Placements) -> Iterator[str]:
    expected = found.case["expect"][podset["name"]]
    placed, refusals = found.of(podset), found.refusals(podset)
    if "failure" in expected:
        reason = REASONS[expected["failure"]["kind"]]
        if placed or {said for said, _ in refusals} != {reason}:
            yield f"expected {reason.value}, not {placed or refusals}"
        return
    pending = podset["count"] - len(data.survivors(found.case, podset))
    if len(placed) < pending:
        yield f"{len(placed)} of {pending} are placed: {refusals}"
        return
    yield from _broken(podset, found.whole(podset), found.case["levels"])
    if _asks_for_closeness(podset):
        yield from _wider(placed.values(), _expected(podset, found.case), found.case["levels"])


def _of_groups(case: Case, found: Placements) -> Iterator[str]:
    """Yield how the podsets of a group do not share a domain as closely as they should."""
    levels = case["levels"]
    for group in {podset["group"] for podset in case["podsets"] if "group" in podset}:
        podsets = [podset for podset in case["podsets"] if podset.get("group") == group]
        leaves = [leaf for podset in podsets for leaf in found.whole(podset)]
        wanted = [leaf for podset in podsets for leaf in _expected(podset, case)]
        shared = {"topology": podsets[0]["topology"]}
        for fault in (*_broken(shared, leaves, levels), *_wider(leaves, wanted, levels)):
            yield f"group {group}: {fault}"


def _asks_for_closeness(podset: Case) -> bool:
    return podset["topology"]["mode"] in data.MODES or bool(data.slices_of(podset))


def _expected(podset: Case, case: Case) -> Iterable[Path]:
    """Return the leaves of the expected placement of the members that were to be placed now."""
    wanted = Counter[Path]()
    for each in case["expect"][podset["name"]]["placed"]:
        wanted[data.leaf(case, each["domain"])] += each["count"]
    return (wanted - Counter(data.survivors(case, podset).values())).elements()


def _broken(podset: Case, leaves: Sequence[Path], levels: Sequence[str]) -> Iterator[str]:
    """Yield which of the things that a podset requires it did not get."""
    asked = podset["topology"]
    if asked["mode"] == "required" and _spread(leaves, levels.index(asked["level"])) > 1:
        yield f"is not in one {asked['level']}: {leaves}"
    for each in data.slices_of(podset):
        size = each["size"]
        runs = (leaves[i : i + size] for i in range(0, len(leaves), size))
        if any(_spread(run, levels.index(each["level"])) > 1 for run in runs):
            yield f"is not in slices of {size} within {each['level']}: {leaves}"


def _wider(
    leaves: Iterable[Path], expected: Iterable[Path], levels: Sequence[str]
) -> Iterator[str]:
    leaves, expected = [*leaves], [*expected]
    for depth, level in enumerate(levels):
        used, enough = _spread(leaves, depth), _spread(expected, depth)
        if used > enough:
            yield f"uses {used} and not {enough} of {level}: {Counter(leaves)}"


def _spread(leaves: Iterable[Path], depth: int) -> int:
    """Return the number of domains at a depth. Domains are told apart by their whole path."""
    return len({leaf[: depth + 1] for leaf in leaves})
