"""docs/settings.md, made of the settings themselves."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic.fields import FieldInfo

from gang_scheduler.model.rules import (
    DeviceRules,
    GangRules,
    PreemptionRules,
    PromiseRules,
    QueueRules,
    WorkloadRules,
)
from gang_scheduler.settings.run import EvictionSettings, Settings
from tools.chart.schema import camel

HEAD: Final = """# Settings

Each setting is a key under `settings:` of the chart, a flag, and an environment variable. For
example `minPriorityDifference` is `--min-priority-difference` and `PGS_MIN_PRIORITY_DIFFERENCE`.
A flag wins over the environment. Lists are repeated flags, and JSON in the environment. An
unknown `PGS_*` variable ends the process at its start, with "did you mean". If a Service named
`pgs` makes such variables in your own manifests, set `enableServiceLinks: false`, as the chart
does.

This page is generated from the code: `make pages` writes it again.
"""
SECTIONS: Final[tuple[tuple[str, type], ...]] = (
    ("Gangs and nodes", GangRules),
    ("Preemption", PreemptionRules),
    ("Eviction, checkpoints and failed nodes", EvictionSettings),
    ("Queues", QueueRules),
    ("Promised starts", PromiseRules),
    ("Suspended jobs and nodes that are bought", WorkloadRules),
    ("Devices", DeviceRules),
    ("The process", Settings),
)
"""The headings, each with the class that declares the settings below it."""
MORE: Final = {
    "nodeFailureSeconds": "failed-nodes.md",
    "spareNodes": "failed-nodes.md#spare-nodes",
    "preemptUnprotectedJobs": "preemption.md#jobs",
    "lostWorkCapSeconds": "checkpoints.md",
    "checkpointAnnotations": "checkpoints.md#modes",
    "degradedGangs": "failed-nodes.md#when-the-domain-has-no-room",
    "forceDeleteStuckPodsSeconds": "failed-nodes.md#pods-that-are-stuck",
    "kueue": "from-kueue.md",
    "volcano": "from-volcano.md",
    "yieldMemorySeconds": "queue-rules.md#why-nothing-goes-in-circles",
    "reservations": "queues.md#a-promise-to-the-big-gang",
    "manageJobs": "suspended-jobs.md",
    "elasticKinds": "gangs.md#mode-replicas",
    "provisioningRequests": "provisioning.md",
    "volcanoJobs": "kinds/volcano.md#jobs-of-volcano",
    "podEvents": "troubleshooting.md#what-kubectl-describe-pod-shows",
    "queueDeletionGraceSeconds": "queue-rules.md#what-is-counted",
    "leaseDurationSeconds": "operations.md#standby-and-restarts",
    "source": "speed.md#settings-for-a-large-cluster",
}
"""Where the docs say more of a setting."""
TABLE: Final = """
| setting | default | meaning |
|---|---|---|
"""
TAIL: Final = """
**`source`.** `kopf` watches through [Kopf](https://github.com/nolar/kopf). `reflector` is a list
and watch like that of client-go. It takes half of the CPU for each pod, starts in less than half
of the time, and knows what was deleted during an outage as soon as it watches again. `auto`
counts nodes and pods once, at the start of the process: a cluster that has grown beyond 1,000
nodes or 10,000 pods gets the reflector with the next restart. The line `source_chosen` of the log
says what was chosen and why, and the metric `pgs_build_info` has it as a label. If the API server
does not answer for 5 s, it is the reflector. Name `reflector` for a smaller cluster with [100 new
pods a second](speed.md#settings-for-a-large-cluster), or more.

**`httpClient`.** `builtin` is a small HTTP/1.1 client, part of this project. `aiohttp` sends the
same requests over [aiohttp](https://docs.aiohttp.org), for about four times the CPU a request
(0.2 ms instead of 0.06 ms, with TLS). Choose it if only widely used clients may speak to your API
server, or to find out on which side a network fault is. Both keep the same promises, held by the
same tests: no write is sent twice, or later than 4 s after it was decided.
"""


def text() -> str:
    """Return the page as it should be."""
    parts = [HEAD]
    for heading, subject in SECTIONS:
        names = [name for name in Settings.model_fields if name in subject.__annotations__]
        parts += [f"\n## {heading}\n", TABLE, *_rows(names)]
    return "".join([*parts, TAIL])


def default(value: Any) -> str:
    """Return a default as the page shows it."""
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    return f"`{json.dumps(value)}`"


def _rows(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        field = Settings.model_fields[name]
        yield f"| `{camel(name)}` | {default(field.default)} | {_meaning(name, field)} |\n"


def _meaning(name: str, field: FieldInfo) -> str:
    about = (field.description or "").replace(" (a JSON list in the environment)", "")
    more = MORE.get(camel(name))
    return f"{about} [More]({more})." if more else about
