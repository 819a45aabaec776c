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
    """Check that whoever evicted is bound in the end, once for the first time.

    What becomes of room that a hanging pod leaves is not known to any gang; nor which gangs will
    fit beside pods that are only nominated yet.
    """
    hanging = any(pod.deleting and not case.leaves(pod) for pod in case.running)
    if hanging or case.has_mixed_gangs or any(group.gains for group in case.groups):
        return
    nominated = {pod.gang for pod in case.pods.values() if pod.nominated}
    bound = {row["gang"] for row in case.settled.rows("bindings")}
    for by in dict.fromkeys(row["preemptor"] for row in case.settled.rows("victims")):
        # A group of which a gang that had started was evicted waits for that gang again.
        mates = {
            name
            for gang in case.gangs.values()
            if by in (gang.name, *gang.names)
            for name in (gang.name, *gang.names)
        }
        lost = any(row["gang"] in mates for row in case.settled.rows("victims"))
        # And what others are nominated to may turn out to be free.
        if by not in bound and not lost and not nominated - mates:
            victims = [r["pod"] for r in case.settled.rows("victims") if r["preemptor"] == by]
            yield f"{by} evicts {victims}, and never starts"


def rounds_are_few(case: Case) -> Iterator[str]:
    """Check that a gang that nothing disturbs evicts once."""
    if case.has_mixed_gangs:
        return
    nominated = {pod.gang for pod in case.pods.values() if pod.nominated}
    rounds: Counter[str] = Counter()
    for cycle in case.settled.cycles:
        rounds.update({*cycle.victims.values()})
    for by, number in rounds.items():
        # Gangs of one evict each for itself; what others are nominated to may be free later.
        if number > 1 and not case.gangs[by].basic and not nominated - {by}:
            yield f"{by} evicts in {number} rounds"


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
    """Check that other objects, and a gang that fits nowhere, change nothing."""
    if case.world.seed % 8 != 1:
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
    yield from _differences(case.once, answers.ask(answers.read([*case.world.documents, *others])))


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
