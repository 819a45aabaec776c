"""What is wrong with a cluster at rest, when nothing has happened for long."""

from collections.abc import Iterator, Sequence

from search import answers, facts
from search.facts import Gang, Pod
from search.manifests import Manifest


def complaints(documents: Sequence[Manifest]) -> Iterator[str]:
    """Yield what is left undone: pods that are told nothing, marks, and decisions."""
    for pod in facts.pods(documents):
        if pod.living and pod.ours and not pod.node and not _reason(pod):
            yield f"{pod.key} waits, and is not told why"
        if pod.marked_as_victim and pod.living:
            yield f"{pod.key} is marked as a victim, and stays"
    answer = answers.ask(answers.read(documents), settled=True)
    for name in ("bindings", "victims"):
        rows = [f"{row['pod']} {row['node']}" for row in answer.rows(name)]
        if rows:
            yield f"at rest simulate would have {name}: {rows}"


def of_the_undisturbed(documents: Sequence[Manifest], before: Sequence[Manifest]) -> Iterator[str]:
    """Yield gangs that are in part, and were not in part from the start."""
    in_part = {gang.name for gang in _gangs(before) if _is_in_part(gang)}
    for gang in _gangs(documents):
        if _is_in_part(gang) and gang.name not in in_part:
            yield f"{gang.name} has {len(gang.bound)} of {dict(gang.roles)} at rest"


def _gangs(documents: Sequence[Manifest]) -> list[Gang]:
    return [*facts.gangs(documents, facts.pods(documents)).values()]


def _is_in_part(gang: Gang) -> bool:
    return gang.body is not None and bool(gang.bound) and not gang.is_quorum(gang.bound)


def _reason(pod: Pod) -> str:
    found = (c for c in pod.status.get("conditions") or () if c["type"] == "PodScheduled")
    return next((str(each.get("reason", "")) for each in found), "")
