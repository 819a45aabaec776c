"""Names that try to be more than text, and a cluster in which everything has such a name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import structs

from gang_scheduler.inspection import files
from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.sources import ClusterSource, OfFiles
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.snapshot_files import LIVE
from support import listed_clusters
from support.listed_clusters import gang, node, queue

MARKUP: Final = "<script>alert('x')</script>\"&amp;"
RIGHT_TO_LEFT: Final = "\u202etsop"
HOSTILE_NAMES: Final = (MARKUP, RIGHT_TO_LEFT, "x" * 253)


def source_with(directory: Path, name: str) -> ClusterSource:
    """Return the source of a snapshot in which everything has this name."""
    events = [
        SchedulerEvent(
            namespace="hostile", name="hostile", reason="hostile", note="hostile", first=1
        )
    ]
    bodies = [
        *(node("hostile"), queue("hostile", 64)),
        *gang("hostile", 1, nodes=["hostile"], queue="hostile", namespace="hostile"),
        *gang("waits", 9, queue="hostile", namespace="hostile"),
    ]
    taken = taking.of_files([listed_clusters.written(directory, bodies)], Policy())
    header = structs.replace(taken.header, source=LIVE, events=events)
    content = b"".join(replace(taken, header=header).content())
    path = directory / "snapshot.jsonl"
    path.write_bytes(content.replace(b"hostile", json.dumps(name)[1:-1].encode()))
    return OfFiles(files.read([str(path)], Policy()), [str(path)], Policy())
