"""Laws on what comes of a world in the end, and on worlds that should come to the same."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from search import answers, manifests
from search.answers import Answer
from search.cases import Case
from search.manifests import Manifest


def the_end_comes(case: Case) -> Iterator[str]:
    """Check that the cycles come to an end, and no pod is evicted twice."""
    evicted = Counter(row["pod"] for row in case.settled.rows("victims"))
    for key, times in evicted.items():
        if times > 1:
            yield f"{key} is evicted {times} times"


def preemptors_start(case: Case) -> Iterator[str]:
    """Check that a preemptor is bound in the end, once for the first time."""
    if not _is_foreseeable(case):
        return
    nominated = {pod.gang for pod in case.pods.values() if pod.nominated}
    bound = {row["gang"] for row in case.settled.rows("bindings")}
    for by in dict.fromkeys(row["preemptor"] for row in case.settled.rows("victims")):
        # And what others are nominated to may turn out to be free.
        if by not in bound and not nominated - {by}:
            victims = [r["pod"] for r in case.settled.rows("victims") if r["preemptor"] == by]
            yield f"{by} evicts {victims}, and never starts"


def rounds_are_few(case: Case) -> Iterator[str]:
    """Check that a gang that nothing disturbs evicts once."""
    if not _is_foreseeable(case):
        return
    nominated = {pod.gang for pod in case.pods.values() if pod.nominated}
    rounds: Counter[str] = Counter()
    for cycle in case.settled.cycles:
        rounds.update({*cycle.victims.values()})
    for by, number in rounds.items():
        # Gangs of one evict each for itself; what others are nominated to may be free later.
        if number > 1 and not case.gangs[by].basic and not nominated - {by}:
            yield f"{by} evicts in {number} rounds"


def _is_foreseeable(case: Case) -> bool:
    """Return whether it is known of each gang, when others are decided, what it will need.

    It is not known when hanging pods leave, nor which gangs fit beside pods that are nominated; a
    gang that loses members may have another priority then; a group evicts none of its own pods,
    but may start in their room once others have evicted those.
    """
    if any(pod.deleting and not case.leaves(pod) for pod in case.running):
        return False
    if case.has_mixed_gangs or any(group.gains for group in case.groups):
        return False
    grouped = {name for gang in case.gangs.values() if gang.names for name in gang.names}
    grouped |= {gang.name for gang in case.gangs.values() if gang.names}
    return grouped.isdisjoint(row["gang"] for row in case.settled.rows("victims"))


def lists_in_the_end(case: Case) -> Iterator[str]:
    """Check that in the end every pod that waited is in exactly one list, unless it was evicted."""
    counted: Counter[str] = Counter()
    for name in ("bindings", "nominations"):
        counted.update(row["pod"] for row in case.settled.rows(name))
    counted.update(pod for row in case.settled.rows("unschedulable") for pod in row["pods"])
    gone = {row["pod"] for row in case.settled.rows("victims")}
    for pod in case.waiting:
        if counted[pod.key] != 1 and pod.key not in gone:
            yield f"{pod.key} is in {counted[pod.key]} lists in the end"


def order_of_documents_is_irrelevant(case: Case) -> Iterator[str]:
    """Check that the same objects in another order are decided alike."""
    if case.world.seed % 8 or not all("uid" in d["metadata"] for d in case.world.documents):
        return
    shuffled = [*case.world.documents]
    Random(case.world.seed).shuffle(shuffled)  # noqa: S311 - for worlds, not for secrets.
    yield from _differences(case.once, answers.ask(answers.read(shuffled)))


def others_change_nothing(case: Case) -> Iterator[str]:
    """Check that other objects, and a gang that fits nowhere, change nothing.

    Where a search is cut off they may: all gangs share what is searched in a cycle.
    """
    if case.world.seed % 8 != 1 or case.once.cycles[0].cut_off:
        return
    others: list[Manifest] = [
        manifests.manifest("v1", "Namespace", f"other-{number}") for number in range(100)
    ]
    others.append(manifests.pod_group("hopeless", 2, namespace="elsewhere", created=990))
    named = {manifests.POD_GROUP_LABEL: "hopeless"}
    for number in range(2):
        name, asked = f"hopeless-{number}", {"cpu": 10_000}
        fields = {"namespace": "elsewhere", "created": 990, "labels": named}
        others.append(manifests.pod(name, asked, **fields))
    beside = answers.ask(answers.read([*case.world.documents, *others]))
    if not beside.cycles[0].cut_off:
        yield from _differences(case.once, beside)


def _differences(one: Answer, other: Answer) -> Iterator[str]:
    for name in ("bindings", "nominations", "victims"):
        if one.rows(name) != other.rows(name):
            yield f"{name}: {_short(one.rows(name))} and {_short(other.rows(name))}"
    if _waiting(one) != _waiting(other):
        yield f"unschedulable: {_waiting(one)} and {_waiting(other)}"


def _short(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{row['pod']} {row['node']}" for row in rows]


def _waiting(answer: Answer) -> dict[str, str]:
    """Return what waits and why, but not how many nodes and gangs there are beside it."""
    return {
        pod: row["reason"]
        for row in answer.rows("unschedulable")
        for pod in row["pods"]
        if not pod.startswith("elsewhere/")
    }


LAWS = (
    the_end_comes,
    preemptors_start,
    rounds_are_few,
    lists_in_the_end,
    order_of_documents_is_irrelevant,
    others_change_nothing,
)
