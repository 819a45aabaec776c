"""docs/reasons.md, made of the tables of reasons."""

from collections.abc import Iterator, Mapping
from typing import Final

from gang_scheduler.model.consequences import Fixer, Rule
from gang_scheduler.model.reasons import RULES
from gang_scheduler.report.words import reasons
from gang_scheduler.report.words.reasons import Entry

HEAD: Final = """# Reasons

This page lists every reason that this scheduler gives: what it means, who can fix it, and what to
do.

- The submitter is the team that owns the job.
- The queue administrator owns the queue.
- The platform is the team that runs nodes, storage and this scheduler.

A reason is one word, so that you can count it and look it up. The message next to it has the
numbers and names. [Troubleshooting](troubleshooting.md) says where to find both. This page is
generated from tables in the code: `make pages` writes it again, and a test fails if a reason has
no entry.

## Why a gang waits

You find these reasons in

- the condition `PodScheduled` of each waiting pod,
- the condition `Scheduled` of its PodGroup, and the column `REASON` of `kubectl get podgroups`,
- the label `reason` of the metric `pgs_gangs_waiting`, and
- the field `reason` of the log line `gang_waits`.
"""
TABLES: Final = (
    (
        "Conditions of a PodGroup",
        "condition",
        "Except for `Scheduled`, a condition is written only once it has been true.",
        reasons.TYPES,
    ),
    (
        "Reasons of these conditions",
        "reason",
        "These reasons exist in addition to the reasons why a gang waits.",
        reasons.REASONS,
    ),
    ("Conditions of a Queue", "condition", "", reasons.QUEUE_TYPES),
    (
        "Reasons of conditions of a Queue",
        "reason",
        "A gang of a queue that is not `Active` waits with `QueueStopped`.",
        reasons.QUEUE_REASONS,
    ),
    (
        "Conditions of a ClusterNetworkTopology",
        "condition",
        "",
        reasons.TOPOLOGY_TYPES,
    ),
    (
        "Reasons of conditions of a ClusterNetworkTopology",
        "reason",
        "",
        reasons.TOPOLOGY_REASONS,
    ),
    (
        "Events",
        "reason",
        (
            "`kubectl describe` of a PodGroup, Job or pod shows them. The Event of a Volcano Job "
            "without pods has one of the reasons why a gang waits."
        ),
        reasons.ENTRIES,
    ),
)


def text() -> str:
    """Return the page as it should be."""
    waits = "".join(_section(reason.value, each) for reason, each in RULES.items())
    return HEAD + waits + "".join("".join(_table(*each)) for each in TABLES)


def _section(name: str, rule: Rule) -> str:
    who = f"- Who can fix it: {_fixers_text(rule.fixers)}\n"
    return f"\n### {name}\n\n{rule.meaning}\n\n{who}- What to do: {rule.do}\n"


def _table(title: str, of: str, intro: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    yield f"\n## {title}\n\n"
    yield f"{intro}\n\n" if intro else ""
    yield f"| {of} | meaning | who can fix it | what to do |\n|---|---|---|---|\n"
    for name, entry in entries.items():
        yield f"| `{name}` | {entry.meaning} | {_fixers_text(entry.fixers)} | {entry.do} |\n"


def _fixers_text(fixers: tuple[Fixer, ...]) -> str:
    names = ", ".join(each.value for each in fixers if each is not Fixer.SCHEDULER)
    if Fixer.SCHEDULER not in fixers:
        return names
    return f"{names}; or wait" if names else Fixer.SCHEDULER.value
