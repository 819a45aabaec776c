"""`python -m e2e.churn`: let five queues compete, then say what was seen, and judge it."""

import argparse
import random
import sys
import time
from dataclasses import dataclass, field

from e2e.churn import verdicts
from e2e.churn.demand import AT_REST, PROMISED_CPU, QUEUES, SIZES, Demand, by_queue
from e2e.conftest import CRDS
from e2e.support import operator_health, queues
from e2e.support.gang_watcher import GangWatcher
from e2e.support.namespaces import Namespace
from e2e.support.queues import queue
from tools import controlplane
from tools.controlplane import nodes

NODES, NODE_CPU = 5, 8
REST_SECONDS = 90.0
CALM_SECONDS = 8.0
MOST_AT_REST = 2
"""How often one gang may be evicted on the way to rest."""


@dataclass(frozen=True)
class Seen:
    """What a run came to; `wrong` is empty if all was as it must be."""

    jobs: int = 0
    evicted: int = 0
    evicted_at_rest: int = 0
    most_of_one: int = 0
    used: dict[str, int] = field(default_factory=dict)
    fair: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def run(plane: controlplane.ControlPlane, seconds: float, seed: int, *flags: str) -> Seen:
    """Let queues compete for so long on a cluster of their own, then come to rest."""
    dice = random.Random(seed)  # noqa: S311 - churn keeps no secret.
    room = {"cpu": str(NODE_CPU), "memory": "64Gi", "pods": "110"}
    made = [nodes.manifest(f"churn-{number}", {}, room) for number in range(NODES)]
    nodes.create(plane.access, made)
    with queues.objects(plane) as objects, controlplane.Scheduler(plane, *flags) as scheduler:
        borrowing = {"enabled": True}
        objects.create(queue("root", NODES * NODE_CPU))
        for each in QUEUES:
            objects.create_and_wait(queue(each, PROMISED_CPU, borrowing=borrowing))
        with Namespace(plane, "churn") as namespace:
            seen = _churned(namespace, Demand(namespace, dice), seconds)
        seen.wrong.extend(operator_health.take_tracebacks(scheduler))
    return seen


def _churned(namespace: Namespace, demand: Demand, seconds: float) -> Seen:
    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        demand.start()
        time.sleep(seconds)
        demand.stop()
        before = len(watcher.history)
        has_settled = _settles(watcher)
        history, states = list(watcher.history), watcher.states
        in_part = watcher.partial_gangs(demand.every)
    living = {job for jobs in demand.jobs.values() for job in jobs}
    evicted = verdicts.evictions(history, living)
    late = verdicts.evictions(history[before:], living)
    used = by_queue(verdicts.bound(states))
    asked = by_queue(verdicts.living(states))
    fair = verdicts.fair({each: asked[each] for each in QUEUES}, PROMISED_CPU, NODES * NODE_CPU)
    wrong = [
        *map(str, in_part),
        *(f"over-committed: {node}" for node in verdicts.over_committed(history, NODE_CPU)),
        *(f"{job} was evicted {n} times at rest" for job, n in late.items() if n > MOST_AT_REST),
        *(
            f"{each} has {used[each]}, and {float(fair[each]):.1f} is fair: {dict(used)} of {asked}"
            for each in QUEUES
            if abs(used[each] - fair[each]) > SIZES[-1]
        ),
    ]
    if not has_settled:
        wrong.append(f"not at rest after {REST_SECONDS:.0f} s")
    return Seen(
        jobs=len(demand.every),
        evicted=evicted.total(),
        evicted_at_rest=late.total(),
        most_of_one=max(evicted.values(), default=0),
        used={each: used[each] for each in QUEUES},
        fair={each: float(fair[each]) for each in AT_REST},
        wrong=wrong,
    )


def _settles(watcher: GangWatcher) -> bool:
    """Return whether pods stop changing in time."""
    until, number, since = time.monotonic() + REST_SECONDS, -1, time.monotonic()
    while time.monotonic() < until:
        now = time.monotonic()
        if number != len(watcher.history):
            number, since = len(watcher.history), now
        elif now - since > CALM_SECONDS:
            return True
        time.sleep(0.2)
    return False


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    with controlplane.start() as plane:
        plane.kubectl("apply", f"--filename={CRDS}")
        seen = run(plane, arguments.seconds, arguments.seed, f"--source={arguments.source}")
    print(f"{seen.jobs} Jobs; of those left {seen.evicted} evictions", flush=True)
    print(f"{seen.evicted_at_rest} of them at rest; at most {seen.most_of_one} of one Job")
    for each in QUEUES:
        print(f"  {each:8} has {seen.used[each]:3}, and {seen.fair[each]:5.1f} is fair")
    for words in seen.wrong:
        print(f"WRONG: {words}")
    return 1 if seen.wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.churn", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", choices=("kopf", "reflector"), default="kopf")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
