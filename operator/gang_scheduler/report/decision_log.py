"""The log of decisions: a line for each gang that starts, grows, preempts, loses pods, or waits.

The size is bounded: a line has the number of all pods and nodes, at most NAMES_SHOWN names of pods,
and nodes as ranges of at most LETTERS_SHOWN letters. At most LINES_A_SECOND lines of each kind are
written; the rest are summed up in one line.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from gang_scheduler.apply.outcomes import GangBinding
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.words import text
from gang_scheduler.report.words.messages import describe
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.pruning import pruned
from gang_scheduler.telemetry import logger
from gang_scheduler.telemetry.logger import Logger

NAMES_SHOWN: Final = 10
LETTERS_SHOWN: Final = 500
LINES_A_SECOND: Final = 10
SECOND: Final = 1.0
BY_PRIORITY: Final = "Priority"
"""The eviction right in the log if no queue gives one."""
DRAINED: Final = "Drained"
"""The eviction right in the log if the gang's queue is drained."""

log = Logger()


class DecisionLog:
    """Writes the lines. `known` are the existing gangs; reasons of other gangs are dropped.

    A gang that still waits for the same reason costs one look into a dict.
    """

    def __init__(self, known: Mapping[GangKey, object]) -> None:
        self._known = known
        self._reasons: dict[GangKey, Reason] = {}
        self._lines: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    async def run(self) -> None:
        """Log once a second how many lines were left out, until cancelled."""
        try:
            while True:
                await asyncio.sleep(SECOND)
                self.sum_up()
        finally:
            self.sum_up()

    def sum_up(self) -> None:
        """Write a line with the number of lines that were left out since the last call."""
        if self._left_out:
            log.info("more_decisions", **self._left_out)
        self._left_out.clear()
        self._lines.clear()
        self._reasons = pruned(self._reasons, self._known)

    def bound(self, binding: GangBinding) -> None:
        """Log that all members of a plan are bound. Any later reason to wait is logged again."""
        gang, binds = binding.gang, binding.placed.binds
        self._reasons.pop(gang.key, None)
        if self._is_one_more("gang_bound"):
            log.info(
                "gang_bound",
                gang=str(gang.key),
                priority=gang.priority,
                **_queue_of(gang),
                **({"borrows": True} if binding.placed.borrows else {}),
                **_let_pass(binding.placed.backfilled),
                **_named("pods", (bind.pod.name for bind in binds), len(binds)),
                **_nodes(bind.node for bind in binds),
            )
        else:
            self._left_out["gangs_bound"] += 1
            self._left_out["pods_bound"] += len(binds)

    def not_bound(self, binding: GangBinding, note: str) -> None:
        """Log that members of a plan are not bound, and why."""
        is_begun = not (binding.without_volumes or binding.without_devices)
        what = "gang_bound_in_part" if is_begun else "claims_not_bound"
        if self._is_one_more(what):
            log.warning(what, gang=str(binding.gang.key), note=note[:LETTERS_SHOWN])
        else:
            self._left_out[what] += 1

    def preempting(self, preemption: Preemption) -> None:
        """Log which gangs preempt, and on which nodes pods are evicted or already leaving."""
        gangs, victims = preemption.gangs, preemption.victims
        if self._is_one_more("preempting"):
            log.info(
                "preempting",
                **_named("preemptors", (str(gang.key) for gang in gangs), len(gangs)),
                priority=gangs[0].priority,
                **_queue_of(gangs[0]),
                **_let_pass(preemption.backfilled),
                **_named("victims", (victim.pod.key for victim in victims), len(victims)),
                **_nodes(bind.node for bind in preemption.nominations),
                domain=str(preemption.domain or ""),
            )
        else:
            self._left_out["preemptions"] += 1
            self._left_out["victims"] += len(victims)

    def evicted(self, key: GangKey, pods: Sequence[Pod], preemption: Preemption) -> None:
        """Log which pods of a gang are evicted, for which gang and by which right."""
        if self._is_one_more("gang_evicted"):
            right = preemption.classes.get(key)
            log.info(
                "gang_evicted",
                gang=str(key),
                preemptor=_preemptor(preemption),
                right=right.shown
                if right is not None
                else DRAINED
                if preemption.drained is not None
                else BY_PRIORITY,
                **_named("pods", (pod.name for pod in pods), len(pods)),
                **_nodes(pod.node for pod in pods),
            )
        else:
            self._left_out["gangs_evicted"] += 1

    def scaled(self, key: GangKey, event: str, workers: str) -> None:
        """Log that a gang grows or shrinks: the reason of its Event, and the number of workers."""
        if self._is_one_more("gang_scaled"):
            log.info("gang_scaled", gang=str(key), change=event, workers=workers)
        else:
            self._left_out["gangs_scaled"] += 1

    def withdrawn(self, preemptor: Gang, why: Cause) -> None:
        """Log that room could not be made for a gang, and why."""
        if self._is_one_more("preemption_withdrawn"):
            log.warning(
                "preemption_withdrawn",
                preemptor=str(preemptor.key),
                **_queue_of(preemptor),
                why=text_of(why)[:LETTERS_SHOWN],
            )
        else:
            self._left_out["preemptions_withdrawn"] += 1

    def waits(self, refused: Refused) -> None:
        """Log why a gang waits, if the reason is new."""
        key, reason = refused.gang.key, refused.reason
        if self._reasons.get(key) is reason:
            return
        self._reasons[key] = reason
        if self._is_one_more("gang_waits"):
            log.info("gang_waits", **_of_refusal(refused))
        else:
            self._left_out[f"waiting_{reason}"] += 1

    def verdicts(self, plan: Plan) -> None:
        """Log each verdict of a cycle, at level debug and without a limit on lines."""
        if not logger.is_debugging():
            return
        for placed in plan.placed:
            binds = placed.binds
            log.debug(
                "verdict",
                gang=str(placed.gang.key),
                **_queue_of(placed.gang),
                reason="Placed",
                **_named("pods", (bind.pod.name for bind in binds), len(binds)),
                **_nodes(bind.node for bind in binds),
            )
        for refused in plan.refused:
            log.debug("verdict", **_of_refusal(refused))

    def _is_one_more(self, line: str) -> bool:
        """Count a line; return whether it may be written in this second."""
        self._lines[line] += 1
        return self._lines[line] <= LINES_A_SECOND


def _queue_of(gang: Gang) -> dict[str, str]:
    """Return the `queue` field of a log line; no field for a gang without a queue."""
    return {"queue": gang.queue.name} if gang.queue else {}


def _of_refusal(refused: Refused) -> dict[str, Any]:
    pods = refused.pods
    return {
        "gang": str(refused.gang.key),
        **_queue_of(refused.gang),
        "reason": refused.reason.value,
        "cause": _cause(refused),
        **_named("pods", (pod.name for pod in pods), len(pods)),
        "message": describe(refused)[:LETTERS_SHOWN],
    }


def _cause(refused: Refused) -> str:
    """Return the kind of cause that keeps a gang waiting.

    The kind can be counted; the text differs from gang to gang.
    """
    while refused.with_group is not None:
        refused = refused.with_group.refused
    if refused.cause is not None:
        return type(refused.cause).__name__
    shortage = refused.misfit.shortage if refused.misfit is not None else None
    return shortage.obstacle.name if shortage is not None else ""


def _preemptor(preemption: Preemption) -> str:
    """Return the name of the preemptor, or of the drained queue."""
    gangs = preemption.gangs
    return str(gangs[0].key) if gangs else f"queue {preemption.drained}"


def _let_pass(backfilled: Backfilled | None) -> dict[str, str]:
    """Return the field with the gang that a backfilled gang starts ahead of, if any."""
    return {"ahead_of": str(backfilled.ahead_of)} if backfilled is not None else {}


def _nodes(names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a log line about nodes: their names as ranges, and their number."""
    nodes = set(names)
    return {"nodes": text.folded(nodes)[:LETTERS_SHOWN], "nodes_in_all": len(nodes)}


def _named(what: str, names: Iterable[str], number: int) -> dict[str, Any]:
    """Return the fields of a log line with some of the names, and the number of all."""
    return {what: list(islice(names, NAMES_SHOWN)), f"{what}_in_all": number}
