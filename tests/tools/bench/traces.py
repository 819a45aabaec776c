"""Jobs of large training clusters, made with the sizes and lengths that are published of these.

`philly` is like Microsoft's Philly (Jeon et al., ATC 2019): most jobs have one GPU, one in twenty
has several nodes, and lengths have a very heavy tail. `helios` is like SenseTime's Helios (Hu et
al., SC 2021): many more short jobs, and virtual clusters that differ much in size. Both have 20
virtual clusters, which are the queues. `openb` are jobs of a file of Alibaba's GPU cluster (Weng et
al., ATC 2023): pods of whole GPUs, and shares of a GPU count as one.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

HEADER: Final = "name,submit,duration,pods,gpu,queue,limit"
VIRTUAL_CLUSTERS: Final = 20
LONGEST: Final = 86_400
DAY: Final = 86_400


@dataclass(frozen=True)
class Shape:
    """What jobs are like: their (pods, GPUs a pod) with weights, and how long they run.

    Lengths are lognormal. `skew` says how unequal the virtual clusters are; 0: all alike.
    """

    sizes: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    median_seconds: float
    spread: float
    skew: float


PHILLY: Final = Shape(
    sizes=((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8)),
    weights=(0.70, 0.08, 0.09, 0.08, 0.03, 0.015, 0.005),
    median_seconds=1800,
    spread=2.2,
    skew=0.5,
)
HELIOS: Final = Shape(
    sizes=((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8)),
    weights=(0.55, 0.10, 0.10, 0.20, 0.03, 0.015, 0.005),
    median_seconds=300,
    spread=2.5,
    skew=1.0,
)
SHAPES: Final = {"philly": PHILLY, "helios": HELIOS}


def made(shape: Shape, jobs: int, gpus: int, load: float, seed: int) -> Iterator[str]:
    """Yield CSV: jobs come by day twice as often as by night, and fill so much of all GPUs."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    sizes = dice.choices(shape.sizes, shape.weights, k=jobs)
    mean = math.log(shape.median_seconds)
    lengths = [
        max(10, min(LONGEST, round(dice.lognormvariate(mean, shape.spread)))) for _ in range(jobs)
    ]
    work = sum(pods * gpu * each for (pods, gpu), each in zip(sizes, lengths, strict=True))
    gap = work / (load * gpus) / jobs
    shares = [1 / (number + 1) ** shape.skew for number in range(VIRTUAL_CLUSTERS)]
    yield HEADER
    at = 0.0
    for number, ((pods, gpu), lasts) in enumerate(zip(sizes, lengths, strict=True)):
        at += dice.expovariate(_of_day(at) / gap)
        queue = dice.choices(range(VIRTUAL_CLUSTERS), shares)[0]
        limit = int(lasts * dice.uniform(1, 4)) + 600
        yield f"job-{number},{int(at)},{lasts},{pods},{gpu},vc-{queue},{limit}"


def _of_day(at: float) -> float:
    return 1 + math.sin(2 * math.pi * at / DAY) / 3


def openb(pods: Path, every: int) -> Iterator[str]:
    """Yield CSV of each so many-th pod with GPUs of the file; the QoS class is the queue."""
    yield HEADER
    with pods.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["num_gpu"])]
    for row in rows[::every]:
        begin, end = int(row["creation_time"]), int(row["deletion_time"])
        lasts = max(1, end - int(row["scheduled_time"] or begin))
        name, gpu, queue = row["name"], row["num_gpu"], row["qos"].lower()
        yield f"{name},{begin},{lasts},1,{gpu},{queue},{lasts}"


def openb_nodes(nodes: Path, every: int) -> Sequence[dict[str, object]]:
    """Return each so many-th node with GPUs of the file, as an object."""
    with nodes.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["gpu"])]
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": row["sn"]},
            "status": {
                "allocatable": {
                    "cpu": f"{row['cpu_milli']}m",
                    "memory": f"{row['memory_mib']}Mi",
                    "pods": "110",
                    "nvidia.com/gpu": row["gpu"],
                },
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for row in rows[::every]
    ]
