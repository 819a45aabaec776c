"""The log of decisions: one line a gang that is bound, makes room or waits for another reason.

Bounded: a line has the number of all pods and nodes, and at most NAMES_SHOWN of their names. Of
each kind at most LINES_A_SECOND lines are written; what is left out is summed up in one line.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from itertools import islice
from typing import Any, Final

import structlog

from gang_scheduler import telemetry
from gang_scheduler.apply.gang_binding import GangBinding
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan, Preemption, Refused
from gang_scheduler.model.problems import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.cause_texts import text_of
from gang_scheduler.report.messages import describe

NAMES_SHOWN: Final = 10
LETTERS_SHOWN: Final = 500
LINES_A_SECOND: Final = 10
SECOND: Final = 1.0
MOST_GONE: Final = 1000

log = structlog.get_logger()


class DecisionLog:
    """Writes the lines. `known` are the gangs that there are: the reasons of others are dropped.

    A gang that waits on for the same reason costs one look into a dict.
    """

    def __init__(self, known: Mapping[GangKey, object]) -> None:
        self._known = known
        self._reasons: dict[GangKey, Reason] = {}
        self._lines: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    async def run(self) -> None:
        """Sum up once a second what was left out, until cancelled."""
        try:
            while True:
                await asyncio.sleep(SECOND)
                self.sum_up()
        finally:
            self.sum_up()

    def sum_up(self) -> None:
        """Write one line of what was left out since the last time, and begin to count anew."""
        if self._left_out:
            log.info("more_decisions", **self._left_out)
        self._left_out.clear()
        self._lines.clear()
        if len(self._reasons) > 2 * len(self._known) + MOST_GONE:
            self._reasons = _only(self._reasons, self._known)

    def bound(self, binding: GangBinding) -> None:
        """Log that all members of a plan are bound. What the gang waits for next is news."""
        gang, binds = binding.gang, binding.placed.binds
        self._reasons.pop(gang.key, None)
        if self._is_one_more("gang_bound"):
            nodes = dict.fromkeys(bind.node for bind in binds)
            log.info(
                "gang_bound",
                gang=str(gang.key),
                **_queue_of(gang),
                **({"borrows": True} if binding.placed.borrows else {}),
                **_named("pods", (bind.pod.name for bind in binds), len(binds)),
                **_named("nodes", nodes, len(nodes)),
            )
        else:
            self._left_out["gangs_bound"] += 1
            self._left_out["pods_bound"] += len(binds)

    def not_bound(self, binding: GangBinding, note: str) -> None:
        """Log that members of a plan are not bound, and why."""
        what = "claims_not_bound" if binding.without_volumes else "gang_bound_in_part"
        if self._is_one_more(what):
            log.warning(what, gang=str(binding.gang.key), note=note[:LETTERS_SHOWN])
        else:
            self._left_out[what] += 1

    def preempting(self, preemption: Preemption) -> None:
        """Log for which gangs pods are evicted or leave already, and where."""
        gangs, victims = preemption.gangs, preemption.victims
        if self._is_one_more("preempting"):
            nodes = dict.fromkeys(bind.node for bind in preemption.nominations)
            log.info(
                "preempting",
                **_named("preemptors", (str(gang.key) for gang in gangs), len(gangs)),
                **_queue_of(gangs[0]),
                **_named("victims", (victim.pod.key for victim in victims), len(victims)),
                **_named("nodes", nodes, len(nodes)),
                domain=str(preemption.domain or ""),
            )
        else:
            self._left_out["preemptions"] += 1
            self._left_out["victims"] += len(victims)

    def withdrawn(self, preemptor: Gang, why: Cause) -> None:
        """Log that room could not be made for a gang, and why."""
        if self._is_one_more("preemption_withdrawn"):
            reason = text_of(why)[:LETTERS_SHOWN]
            log.warning("preemption_withdrawn", preemptor=str(preemptor.key), why=reason)
        else:
            self._left_out["preemptions_withdrawn"] += 1

    def waits(self, refused: Refused) -> None:
        """Log why a gang waits, if that is another reason than the last time."""
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
        if not telemetry.is_debugging():
            return
        for placed in plan.placed:
            binds = placed.binds
            nodes = dict.fromkeys(bind.node for bind in binds)
            log.debug(
                "verdict",
                gang=str(placed.gang.key),
                **_queue_of(placed.gang),
                reason="Placed",
                **_named("pods", (bind.pod.name for bind in binds), len(binds)),
                **_named("nodes", nodes, len(nodes)),
            )
        for refused in plan.refused:
            log.debug("verdict", **_of_refusal(refused))

    def _is_one_more(self, line: str) -> bool:
        """Count a line; return whether it may be written in this second."""
        self._lines[line] += 1
        return self._lines[line] <= LINES_A_SECOND


def _queue_of(gang: Gang) -> dict[str, str]:
    """Return the field of a line for the queue; none where there are no queues."""
    return {"queue": gang.queue.name} if gang.queue else {}


def _of_refusal(refused: Refused) -> dict[str, Any]:
    pods = refused.pods
    return {
        "gang": str(refused.gang.key),
        **_queue_of(refused.gang),
        "reason": refused.reason.value,
        **_named("pods", (pod.name for pod in pods), len(pods)),
        "message": describe(refused)[:LETTERS_SHOWN],
    }


def _named(what: str, names: Iterable[str], number: int) -> dict[str, Any]:
    """Return the fields of a line for some of the names, and the number of all."""
    return {what: list(islice(names, NAMES_SHOWN)), f"{what}_in_all": number}


def _only(reasons: Mapping[GangKey, Reason], known: Container[GangKey]) -> dict[GangKey, Reason]:
    return {key: reason for key, reason in reasons.items() if key in known}
