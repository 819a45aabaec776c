"""docs/reasons.md, made of the tables of reasons."""

from collections.abc import Iterator, Mapping
from typing import Final

from gang_scheduler.report.texts.reasons import conditions, events, queues, waiting
from gang_scheduler.report.texts.reasons.entry import Entry

HEAD: Final = """# Reasons

Every word that this scheduler gives as a reason: what it means, whose turn it is, and what to do.
The submitter is the team whose job it is; the queue administrator owns the queue; the platform are
those that run nodes, storage and this scheduler. This page is made from the tables that stand
beside the texts in the code: `make pages` writes it again, and a test fails where a reason
has no entry.

A reason is a word to be counted and looked up; the message beside it has the numbers and names.
Where to find them: [troubleshooting](troubleshooting.md).

## Why a gang waits

The reason of the condition `PodScheduled` of each waiting pod and of the condition `Scheduled` of
its PodGroup, the column `REASON` of `kubectl get podgroups`, the label `reason` of
`pgs_gangs_waiting`, and the field `reason` of the line `gang_waits` in the log.
"""
TABLES: Final = (
    (
        "Conditions of a PodGroup",
        "condition",
        "Beside `Scheduled`. A condition that was never true is not written.",
        conditions.TYPES,
    ),
    (
        "Reasons of these conditions",
        "reason",
        "Beside the reasons why a gang waits.",
        conditions.REASONS,
    ),
    ("Conditions of a Queue", "condition", "", queues.QUEUE_TYPES),
    (
        "Reasons of conditions of a Queue",
        "reason",
        "A gang of a queue that is not `Active` waits with `QueueStopped`.",
        queues.QUEUE_REASONS,
    ),
    (
        "Conditions of a ClusterNetworkTopology",
        "condition",
        "",
        queues.TOPOLOGY_TYPES,
    ),
    (
        "Reasons of conditions of a ClusterNetworkTopology",
        "reason",
        "",
        queues.TOPOLOGY_REASONS,
    ),
    (
        "Events",
        "reason",
        (
            "`kubectl describe` of a PodGroup, Job or pod shows them. The Event of a Volcano Job "
            "whose pods do not exist yet has a reason of the first list."
        ),
        events.ENTRIES,
    ),
)


def text() -> str:
    """Return the page as it should be."""
    waits = "".join(_section(reason.value, each) for reason, each in waiting.ENTRIES.items())
    return HEAD + waits + "".join("".join(_table(*each)) for each in TABLES)


def _section(name: str, entry: Entry) -> str:
    do = f"- What to do: {entry.do}\n" if entry.do else ""
    return f"\n### {name}\n\n{entry.meaning}\n\n- Whose turn it is: {_turn(entry)}\n{do}"


def _table(title: str, of: str, intro: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    yield f"\n## {title}\n\n"
    yield f"{intro}\n\n" if intro else ""
    yield f"| {of} | means | whose turn | do |\n|---|---|---|---|\n"
    for name, entry in entries.items():
        yield f"| `{name}` | {entry.meaning} | {_turn(entry)} | {entry.do} |\n"


def _turn(entry: Entry) -> str:
    return ", ".join(each.value for each in entry.turn)
