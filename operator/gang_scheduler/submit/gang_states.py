"""The phase of a gang, and its members by rank, read with rights in one namespace only."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.api.pod_group import Phase
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.inspection import live
from gang_scheduler.inspection.explaining import name_lookup
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.servers import Server
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.gangs import phases
from gang_scheduler.submit.refusals import Refused

POLL_SECONDS: Final = 2.0


REACHED: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.SCHEDULED: frozenset({Phase.SCHEDULED, Phase.RUNNING, Phase.FINISHED}),
    Phase.RUNNING: frozenset({Phase.RUNNING, Phase.FINISHED}),
    Phase.FINISHED: frozenset({Phase.FINISHED}),
}
"""The phases that a user can wait for, each with the phases of a gang that has reached it."""


@dataclass(frozen=True, slots=True)
class State:
    """The phase of a gang; `reason` and `summary` say why it waits. Members are in rank order."""

    phase: Phase
    reason: str = ""
    summary: str = ""
    members: tuple[Pod, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the gang has ended, with success or without."""
        return self.phase in (Phase.FINISHED, Phase.FAILED)


class NoSuchGang(Refused):
    """No gang has the name; `near` are names that may be meant."""

    def __init__(self, name: str, namespace: str, near: tuple[str, ...] = ()) -> None:
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__("", None, f"{namespace}/{name}: there is no such gang{meant}")


async def state_of(server: Server, name: str, namespace: str) -> State:
    """Return the state of a gang. Raises NoSuchGang, ApiError.

    Also raises Refused if several gangs have the name. Lists the pods and gangs of the namespace
    once.
    """
    wanted = name_lookup.wanted(name, namespace)
    operator = await live.read_profiles(server)
    cluster = await live.only(server, operator, wanted.namespace)
    found = [each for each in name_lookup.find(cluster.cache, wanted) if each.gang is not None]
    ended = await _ended(server, wanted.name, wanted.namespace)
    if len(found) > 1:
        several = ", ".join(map(str, found))
        raise Refused("", None, f"several gangs are named {name}: {several}")
    if not found or found[0].gang is None:
        if ended is not None:
            return State(ended)
        raise NoSuchGang(name, wanted.namespace, name_lookup.near(cluster.cache, wanted))
    answer = answer_for(name, wanted.namespace, Question(cluster))
    info = cluster.cache.gang_queue.infos[found[0].gang]
    members = info.observed.in_rank_order(info.observed.members.values())
    phase = phases.phase_of(phases.counts_of(info))
    document = answer.document
    reason = document.reason if document is not None else ""
    return State(
        ended or phase,
        reason if isinstance(reason, str) else "",
        document.summary if document is not None else "",
        current(members),
    )


def current(members: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pod of each rank: a pod that has not ended, else the pod created last."""
    found: dict[object, Pod] = {}
    for each in members:
        before = found.get(each.rank or each.uid)
        if before is None or _age(before) <= _age(each):
            found[each.rank or each.uid] = each
    return tuple(found.values())


def _age(pod: Pod) -> tuple[bool, float]:
    return not pod.terminal, pod.created_at


async def _ended(server: Server, name: str, namespace: str) -> Phase | None:
    """Return how the Job of that name has ended, since some of its pods may be gone by then."""
    try:
        job = await KubernetesApi(server.connection).get(JOBS, namespace, name)
    except ApiError as error:
        if error.kind in (Kind.GONE, Kind.DENIED):
            return None
        raise
    held = _conditions(job)
    if "Complete" in held or "SuccessCriteriaMet" in held:
        return Phase.FINISHED
    return Phase.FAILED if "Failed" in held else None


def _conditions(job: Mapping[str, Any]) -> set[str]:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return {each["type"] for each in conditions if each["status"] == "True"}


async def waited(
    read: Callable[[], Awaitable[State]], goal: Phase, timeout_seconds: float | None
) -> tuple[bool, State]:
    """Wait for a phase; return whether the gang reached it, and its last state.

    Returns immediately if it has ended otherwise, and after the timeout; None waits for ever.
    """
    began = anyio.current_time()
    while True:
        state = await read()
        if state.phase in REACHED[goal]:
            return True, state
        passed = anyio.current_time() - began
        if state.is_over or (timeout_seconds is not None and passed >= timeout_seconds):
            return False, state
        await anyio.sleep(POLL_SECONDS)
