"""Whether a file is decided as the cluster that it was made of."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gang_scheduler.inspection import files
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Plan, Preemption
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents

Rename = Callable[[str], str]
Pods = tuple[tuple[str, str], ...]


class Decisions(NamedTuple):
    """What a cycle decides, in its order: pods by their uids, with their nodes."""

    placed: tuple[tuple[str, Pods], ...]
    preemptions: tuple[tuple[str, Pods, tuple[str, ...]], ...]
    refused: tuple[tuple[str, str], ...]
    reservations: tuple[tuple[str, int | None], ...]


def decisions(cluster: Cluster, rename: Rename = str) -> Decisions:
    """Return what the next cycle decides; names in it are renamed."""
    plan: Plan = schedule(cluster.snapshot(), cluster.profile, to_the_end=True)
    return Decisions(
        tuple((_key(each.gang, rename), _pods(each.binds, rename)) for each in plan.placed),
        tuple(_preemption(each, rename) for each in plan.preemptions),
        tuple((_key(each.gang, rename), each.reason.value) for each in plan.refused),
        tuple((_keys(each.gangs, rename), each.start) for each in plan.reservations),
    )


def differences(name: str, content: bytes, cluster: Cluster, rename: Rename = str) -> Iterator[str]:
    """Yield a line for each kind of decision in which a file is decided otherwise than a cluster.

    Raises UnreadableInput for a content that cannot be read back.
    """
    read_back, _ = files.loaded(list(documents.of_content(name, content)), Policy())
    found, expected = decisions(read_back), decisions(cluster, rename)
    for what, one, other in zip(Decisions._fields, expected, found, strict=True):
        if one != other:
            pairs = zip((*one, None), (*other, None), strict=False)
            first, instead = next(pair for pair in pairs if pair[0] != pair[1])
            yield f"{name}: {what} are not those of the cluster: {instead}, and not {first}"


def _preemption(preemption: Preemption, rename: Rename) -> tuple[str, Pods, tuple[str, ...]]:
    victims = tuple(sorted(rename(each.pod.uid) for each in preemption.victims))
    gangs = _keys(preemption.gangs, rename)
    return gangs, _pods(preemption.nominations, rename), victims


def _pods(binds: tuple[Bind, ...], rename: Rename) -> Pods:
    return tuple((rename(each.pod.uid), rename(each.node)) for each in binds)


def _keys(gangs: tuple[Gang, ...], rename: Rename) -> str:
    return " ".join(_key(each, rename) for each in gangs)


def _key(gang: Gang, rename: Rename) -> str:
    """Return the source, namespace and name of a gang."""
    source, namespace, name = gang.key
    return f"{source} {rename(namespace)}/{rename(name)}"
