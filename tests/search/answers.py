"""Asks the product what it decides, and writes the answer down as plain values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from gang_scheduler.model.plan import Plan, PreemptionVerdict, Refused
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import objects, output_document, run
from gang_scheduler.simulation.documents import Document
from search.manifests import Manifest

MOST_CYCLES = 60
OURS = ("py-gang-scheduler",)


class EndlessError(Exception):
    """Cycle after cycle changes something."""


@dataclass(frozen=True)
class Cycle:
    """What one cycle decides: pods to nodes, by pod; and victims, each with its preemptor.

    `cut_off` are the pods of which it is said that the search for them was cut off.
    """

    binds: dict[str, str] = field(default_factory=dict)
    nominations: dict[str, str] = field(default_factory=dict)
    victims: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    cut_off: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Answer:
    """The document that `simulate` prints, and the cycles that led to it."""

    document: dict[str, Any]
    cycles: list[Cycle]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return one list of the document."""
        found: list[dict[str, Any]] = self.document[name]
        return found


def read(documents: Sequence[Manifest]) -> objects.Objects:
    """Return what the product reads in these objects."""
    found = [Document("world", number, body) for number, body in enumerate(documents, start=1)]
    return objects.load(found, OURS[0])


def ask(loaded: objects.Objects, *, settled: bool = False) -> Answer:
    """Return what comes of these objects. Raises EndlessError, or whatever the product raises."""
    with _watched() as cycles:
        outcome = run.simulate(
            loaded, run.Options(Policy(scheduler_names=OURS), until_settled=settled)
        )
    return Answer(output_document.document(outcome), cycles)


@contextmanager
def _watched() -> Iterator[list[Cycle]]:
    """Note every cycle; end a simulation that does not end."""
    cycles: list[Cycle] = []

    def watched(snapshot: Snapshot, profile: Profile, *, to_the_end: bool) -> Plan:
        if len(cycles) == MOST_CYCLES:
            raise EndlessError(f"{MOST_CYCLES} cycles, and the last one evicts {last(cycles)}")
        plan = schedule(snapshot, profile, to_the_end=to_the_end)
        cycles.append(_cycle(plan))
        return plan

    with patch.object(run, "schedule", watched):
        yield cycles


def last(cycles: Sequence[Cycle]) -> list[str]:
    """Return the victims of the last cycle."""
    return [*cycles[-1].victims]


def _cycle(plan: Plan) -> Cycle:
    return Cycle(
        binds={bind.pod.key: bind.node for placed in plan.placed for bind in placed.binds},
        nominations={b.pod.key: b.node for made in plan.preemptions for b in made.nominations},
        victims={
            victim.pod.key: str(made.gangs[0].key)
            for made in plan.preemptions
            for victim in made.victims
        },
        refused={pod.key: each.reason.value for each in plan.refused for pod in each.pods},
        cut_off=frozenset(
            pod.key for each in plan.refused if _was_cut_off(each) for pod in each.pods
        ),
    )


def _was_cut_off(refused: Refused) -> bool:
    place = refused.misfit is not None and refused.misfit.cut_off
    tried = refused.preemption
    return place or (
        tried is not None and (tried.cut_off or tried.verdict is PreemptionVerdict.NONE_FOUND)
    )
