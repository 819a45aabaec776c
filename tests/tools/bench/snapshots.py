"""`python -m tools.bench.snapshots`: how long a snapshot of a large cluster takes; no API server.

From the bytes of lists on: taken in, written, compressed, read back and decided, and the same with
pseudonyms. Pods look like those of Jobs, with all that a snapshot leaves out.
"""

import argparse
import itertools
import json
import resource
import time
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from gang_scheduler import gc_tuning
from gang_scheduler.api.kinds import GVR, NODES, PODS
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.snapshots import pseudonyms, taking
from gang_scheduler.inspection.snapshots.taking import Recorder, Snapshot
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from support import cache_feeding
from support.api_objects import container, node_body, pod_body

GANG: Final = 10
WAITING: Final = 100
"""So many gangs wait; all others run."""
AT: Final = "2024-05-01T12:00:00Z"
LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
CONDITIONS: Final = ("PodScheduled", "Initialized", "Ready", "ContainersReady")


def main() -> int:
    """Measure once, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.snapshots", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    given = parser.parse_args()
    dice = Random(1)  # noqa: S311 - for names, not for secrets.
    nodes = [json.dumps(node_manifest(dice, i)).encode() for i in range(given.nodes)]
    pods = [json.dumps(each).encode() for each in _pods(dice, given.pods, given.nodes)]
    table = Table("step", title=f"{given.nodes} nodes, {given.pods} pods")
    for title in ("CPU s", "MB"):
        table.add_column(title, justify="right")
    for step, seconds, size in _measured(nodes, pods):
        table.add_row(step, f"{seconds:.1f}", f"{size / 1e6:.1f}" if size else "")
    Console().print(table)
    return 0


def _measured(nodes: list[bytes], pods: list[bytes]) -> Iterator[tuple[str, float, int]]:
    """Yield the steps, with how many seconds of CPU each took and how many bytes there are then."""
    gc_tuning.collect_rarely()
    yield "lists", 0.0, sum(map(len, (*nodes, *pods)))
    began = time.process_time()

    def passed() -> float:
        nonlocal began
        before, began = began, time.process_time()
        return began - before

    snapshot = _taken(nodes, pods)
    content = b"".join(snapshot.content())
    yield "taken in and written down", passed(), len(content)
    size = len(taking.packed([content]))
    yield "compressed", passed(), size
    _check(content, snapshot, str)
    yield "read back and decided, twice", passed(), 0
    found = pseudonyms.of(snapshot)
    renamed = b"".join(pseudonyms.anonymized(snapshot, found).content())
    yield "with pseudonyms", passed(), len(renamed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    yield "memory at most, lists included", 0.0, peak


def _taken(nodes: list[bytes], pods: list[bytes]) -> Snapshot:
    cache = Cache(Policy().rules.gangs.scheduler_names, Changes())
    cache.gang_queue.expect_nothing()
    recorder = Recorder(cache_feeding.event_handlers(cache))
    for gvr, raws in ((NODES, nodes), (PODS, pods)):
        _list(recorder, gvr, raws)
    cluster = Cluster(cache, Policy(), int(time.time()), Source.LIVE)
    return taking.of_recorded(cluster, recorder)


def _list(recorder: Recorder, gvr: GVR, raws: list[bytes]) -> None:
    (handler,) = (each for each in recorder.all if each.name == gvr.name)
    known_objects = KnownObjects(handler, recorder.versions)
    known_objects.begin(gvr)
    for raw in raws:
        known_objects.listed(msgspec.Raw(raw))
    known_objects.end()


def _check(content: bytes, snapshot: Snapshot, rename: taking.Rename) -> None:
    for line in taking.differences("f", content, snapshot.cluster, rename):
        raise AssertionError(line)


def node_manifest(dice: Random, i: int) -> dict[str, Any]:
    """Return a node with GPUs, in a zone and a rack, as a cluster has it."""
    labels = {
        "kubernetes.io/hostname": f"node-{i}",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"zone-{i % 3}",
        "rack": f"rack-{i // 20}",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    images = [{"names": [f"registry.example.com/image@sha256:{'a' * 64}"]}] * 30
    return node_body(
        f"node-{i}",
        allocatable=room,
        metadata={**_identity(dice), "labels": labels, "managedFields": ["m" * 800]},
        status={"images": images},
    )


def _pods(dice: Random, number: int, nodes: int) -> Iterator[dict[str, Any]]:
    node = itertools.cycle(f"node-{i}" for i in range(nodes))
    for gang in range(number // GANG):
        job = f"job-{gang}-{_suffix(dice)}"
        for i in range(GANG):
            where = next(node) if gang >= WAITING else ""
            yield pod_of_job(dice, f"team-{gang % 50}", job, i, where)


def pod_of_job(dice: Random, namespace: str, job: str, i: int, node: str) -> dict[str, Any]:
    """Return a member of a Job's gang, as a cluster has it; node "": it waits."""
    labels = {
        "pod-group.scheduling.sigs.k8s.io": job,
        "batch.kubernetes.io/job-name": job,
        "batch.kubernetes.io/job-completion-index": str(i),
        "app": "train",
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": _uid(dice)}
    tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    happened = [{"type": t, "status": "True", "lastTransitionTime": AT} for t in CONDITIONS]
    environment = [{"name": f"VARIABLE_{n}", "value": "v" * 20} for n in range(20)]
    asked = container(requests={"cpu": "4", "memory": "32Gi"}, env=environment)
    return pod_body(
        f"{job}-{i}-{_suffix(dice)}",
        nodeName=node,
        metadata={
            **_identity(dice),
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": [owner | {"controller": True}],
            "managedFields": ["m" * 1500],
        },
        containers=[asked],
        tolerations=[tolerated | {"key": "node.kubernetes.io/not-ready"}],
        volumes=[{"name": f"kube-api-access-{_suffix(dice)}", "projected": {}}],
        status={
            "phase": "Running" if node else "Pending",
            "startTime": AT,
            "conditions": happened if node else [],
            "containerStatuses": [{"name": "main", "imageID": "i" * 80}],
        },
    )


def _identity(dice: Random) -> dict[str, str]:
    version = str(dice.randrange(10**9))
    return {"uid": _uid(dice), "resourceVersion": version, "creationTimestamp": AT}


def _uid(dice: Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128)))


def _suffix(dice: Random) -> str:
    return "".join(dice.choices(LETTERS, k=5))


if __name__ == "__main__":
    raise SystemExit(main())
