"""`python -m e2e.storm`: make trouble, then say what was seen, and fail on what must not be."""

import argparse
import contextlib
import random
import sys
import time
from collections.abc import Iterator

from e2e.conftest import CRDS
from e2e.storm import invariants
from e2e.storm.faults import FaultInjector
from e2e.storm.work import Work
from e2e.support.namespaces import Namespace
from tools import controlplane
from tools.controlplane import directories
from tools.controlplane.processes import Processes
from tools.controlplane.wholeness import PodEvent

NODES, CPU = 10, 16
MOST_CPU = NODES * CPU * 7 // 10
"""So much is asked for at once: all gangs find room, and little else is left."""
SETTLED_SECONDS = 60.0
LONG_SECONDS = 3.0


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    dice = random.Random(arguments.seed)  # noqa: S311 - a storm keeps no secret.
    with controlplane.start() as plane, _running(plane, arguments, dice) as storm:
        namespace, work, faults, log = storm
        with namespace.watch() as watcher:
            work.start()
            faults.rage(arguments.seconds)
            work.stop()
            in_part = _settled(watcher, work)
            history = list(watcher.history)
        return _report(history, work, log, in_part)


@contextlib.contextmanager
def _running(
    plane: controlplane.ControlPlane, arguments: argparse.Namespace, dice: random.Random
) -> Iterator[tuple[Namespace, Work, FaultInjector, invariants.WriteLog]]:
    """Give two replicas, each behind a proxy of its own, and what is to be done."""
    plane.kubectl("apply", f"--filename={CRDS}")
    plane.nodes(NODES, allocatable={"cpu": str(CPU), "memory": "64Gi", "pods": "110"})
    log = invariants.WriteLog()
    with contextlib.ExitStack() as stack:
        # Apart from the servers: a replica that has ended is no failure of theirs.
        own_processes = Processes(*directories.create())
        beside = stack.enter_context(
            controlplane.Cluster(plane.kubeconfig, plane.access, own_processes)
        )
        replicas, proxies = [], []
        for name in ("replica-a", "replica-b"):
            path = plane.directory / f"kubeconfig-{name}"
            proxy = stack.enter_context(invariants.RecordingProxy(name, log, plane.access, path))
            # Few at once, so that there is a middle of every gang.
            flags = ("--leader-elect", f"--source={arguments.source}", "--bind-concurrency=2")
            made = controlplane.Scheduler(beside, *flags, name=name, kubeconfig=path)
            replicas.append(stack.enter_context(made))
            proxies.append(proxy)
        namespace = Namespace(plane, "storm")
        namespace.begin()
        own = random.Random(dice.random())  # noqa: S311 - a storm keeps no secret.
        faults = FaultInjector(plane, replicas, proxies, dice=dice, say=_say, only=arguments.only)
        yield namespace, Work(namespace, own, MOST_CPU), faults, log
        faults.end()


def _settled(watcher: controlplane.Watcher, work: Work) -> list[str]:
    """Return the gangs that are not whole some time after the last fault."""
    until = time.monotonic() + SETTLED_SECONDS
    while True:
        left = [
            f"{name}: {len(watcher.bound(name))} of {len(pods)}"
            for name, pods in work.living.items()
            if len(watcher.bound(name)) < len(pods)
        ]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.5)


def _report(
    history: list[PodEvent],
    work: Work,
    log: invariants.WriteLog,
    in_part: list[str],
) -> int:
    """Print what was seen; return whether anything must not have been."""
    nodes = {f"node-{number}": CPU for number in range(NODES)}
    wrong = [
        *invariants.over_committed(history, nodes).values(),
        *invariants.bound_twice(history),
        *log.foreign(),
        *(f"not whole: {each}" for each in in_part),
    ]
    spells = invariants.spells_in_part(history, work.sizes)
    last = history[-1].received_at if history else 0.0
    for spell in sorted(spells, key=lambda each: -each.seconds(last)):
        if spell.seconds(last) > LONG_SECONDS:
            deleted = "" if spell.gang in work.living else ", deleted later"
            words = f"{len(spell.bound)} of {spell.min_member}{deleted}"
            _say(f"in part for {spell.seconds(last):.1f} s: {spell.gang}, {words}")
    bound = len({event.uid for event in history if event.node})
    _say(f"{bound} pods bound, {len(log.writes)} writes, {len(wrong)} wrong")
    for each in wrong:
        _say(f"WRONG: {each}")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.storm", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", choices=("kopf", "reflector"), default="kopf")
    parser.add_argument("--only", nargs="*", default=(), help="faults of this name alone")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
