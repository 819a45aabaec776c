"""What a gang is told that lost members with failed nodes, or cannot replace what it has lost."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Final

from gang_scheduler.api.conditions import Finding, rfc3339
from gang_scheduler.model.degraded import Degraded, LostNode
from gang_scheduler.model.failed_nodes import FailedNode, NodeFailure
from gang_scheduler.model.pods import Pod
from gang_scheduler.report.texts.messages import describe
from gang_scheduler.report.texts.plurals import counted

TYPE: Final = "DegradedDomain"
WHOLE: Final = "Whole"
NAMES_SHOWN: Final = 10


def finding(degraded: Degraded | None) -> Finding:
    """Return the condition of a gang; its reason is what keeps the gang from being whole."""
    if degraded is None:
        return Finding(TYPE, status=False, reason=WHOLE)
    return Finding(TYPE, status=True, reason=degraded.shortage, message=words(degraded))


def words(degraded: Degraded) -> str:
    """Return the domain, the failed nodes, the pods that do not go, and what is short."""
    where = str(degraded.domain) if degraded.domain is not None else "the cluster"
    said = [f"{degraded.lacking} of {degraded.needed} members lack in {where}"]
    if degraded.nodes:
        said.append(f"failed: {_few(map(_node, degraded.nodes), degraded.nodes)}")
    if degraded.on_failed:
        said.append(f"not deleted yet: {_few(_where(degraded.on_failed), degraded.on_failed)}")
    if degraded.stuck:
        said.append(f"stuck: {stuck(degraded.stuck)}")
    return "; ".join((*said, _of_replacements(degraded)))


def stuck(pods: Collection[Pod]) -> str:
    """Return pods and their nodes."""
    return _few(_where(pods), pods)


def _of_replacements(degraded: Degraded) -> str:
    """Return what is to be said of the members that come in place of lost ones."""
    if not degraded.waiting:
        return "no member waits in their place"
    waiting = counted(degraded.waiting, "member")
    wait = "waits" if degraded.waiting == 1 else "wait"
    if degraded.refused is None:
        return f"{waiting} {wait} in their place"
    return f"{waiting} {wait} in their place without room: {describe(degraded.refused)}"


def _node(lost: LostNode) -> str:
    return f"node {lost.name} ({_failure(lost.failed)})"


def _failure(failed: FailedNode | None) -> str:
    if failed is None:
        return "not ready"
    if failed.failure is NodeFailure.GONE:
        return "gone"
    if failed.failure is NodeFailure.TAINTED:
        return f"taint {failed.taint}"
    return f"not ready since {rfc3339(failed.since)}"


def _where(pods: Iterable[Pod]) -> Iterator[str]:
    return (f"{pod.name} on {pod.node}" for pod in pods)


def _few(names: Iterable[str], all_of_them: Collection[object]) -> str:
    more = len(all_of_them) - NAMES_SHOWN
    shown = ", ".join(islice(names, NAMES_SHOWN))
    return f"{shown} and {more} more" if more > 0 else shown
