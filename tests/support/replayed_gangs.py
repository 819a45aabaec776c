"""Gangs of two queues for a replay, and the same gangs as a user creates them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from gang_scheduler.replay import reading
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given, Scenario
from support import yaml_texts
from support.replays import Played
from tools.controlplane import nodes

HEADER: Final = "name,submit,duration,pods,gpu,queue,priority,namespace"
PRIORITIES: Final = {"high": 10}
Body = Mapping[str, Any]


def rows(gangs: int, gap: int, seed: int, namespace: str = "default") -> Iterator[str]:
    """Yield gangs of two queues: some are urgent, and all ask for more than there is.

    They come every `gap` seconds on average, and last up to six times as long.
    """
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    moments = sorted(dice.sample(range(0, gap * gangs, 7), gangs))
    for number, at in enumerate(moments):
        lasts, pods, gpu = (
            dice.randrange(gap * 2 // 3 + 1, 6 * gap, 7),
            dice.randrange(2, 5),
            dice.choice((1, 2, 4)),
        )
        queue, priority = dice.choice(("red", "blue")), dice.choice(("", "", "high"))
        yield f"gang-{number:02},{at},{lasts},{pods},{gpu},{queue},{priority},{namespace}"


def bodies() -> Iterator[Body]:
    """Yield four nodes of four GPUs, and two queues that have half of these each and lend them."""
    for number in range(4):
        allocatable = {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}
        yield nodes.manifest(f"node-{number}", {}, allocatable)
    for name in ("red", "blue"):
        quota = {"quota": {"soft": {"nvidia.com/gpu": "8"}}, "borrowing": {"enabled": True}}
        version = "py-gang-scheduler.io/v1alpha1"
        yield {"apiVersion": version, "kind": "Queue", "metadata": {"name": name}, "spec": quota}
    for name, value in PRIORITIES.items():
        version = "scheduling.k8s.io/v1"
        yield {
            "apiVersion": version,
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }


def replayed(lines: Iterable[str], directory: Path, rules: Rules) -> tuple[Played, Scenario]:
    """Return the replay of rows on the cluster of these bodies, where no start is promised."""
    jobs = reading.of_text("jobs.csv", "\n".join([HEADER, *lines]), PRIORITIES)
    policy, files = directory / "policy.yaml", directory / "cluster.yaml"
    policy.write_text("reservations: 0\n")
    files.write_text("\n---\n".join(map(yaml_texts.written, bodies())))
    given = Given(cluster=[str(files)], policies=[f"live={policy}"])
    scenario = Clusters(given).scenarios(jobs)[0]
    return Played(jobs, scenario, rules), scenario


def stripped(body: Body, grace_seconds: int = 0) -> dict[str, Any]:
    """Return an object of a replay as a user creates it."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in ("uid", "creationTimestamp")}
    made = {**{k: v for k, v in body.items() if k != "status"}, "metadata": metadata}
    if body["kind"] == "Pod":
        made["spec"] = {**body["spec"], "terminationGracePeriodSeconds": grace_seconds}
    return made
