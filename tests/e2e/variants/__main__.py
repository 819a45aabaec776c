"""`python -m e2e.variants`: carry out what is proposed in random clusters, and count by change."""

import argparse
import sys
import time
from collections import Counter

from rich.console import Console
from rich.table import Table

from cases.test_cases import expanded
from e2e.conftest import CRDS
from e2e.support.manifest_worlds import World
from e2e.variants.trials import carried_out
from property.random_cases import dice_of
from support import proposed_changes
from tools import controlplane
from tools.controlplane import Options, Scheduler

OPTIONS = Options(kwok=False, api_priority_and_fairness=False)


def main() -> int:
    """Run, and print how many gangs of each change started; 1 if one did not."""
    parser = argparse.ArgumentParser(prog="python -m e2e.variants", description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="Of the first cluster.")
    given = parser.parse_args()
    started: Counter[str] = Counter()
    failed: list[str] = []
    begun = time.monotonic()
    with controlplane.start(OPTIONS) as plane:
        plane.kubectl("apply", f"--filename={CRDS}")
        with Scheduler(plane):
            world = World(plane)
            for seed in range(given.seed, given.seed + given.clusters):
                try:
                    started.update(_started_in(world, seed))
                except AssertionError as error:
                    failed.append(f"seed {seed}: {error}")
                    print(failed[-1], file=sys.stderr, flush=True)
                    world.clear()
    seconds = time.monotonic() - begun
    table = Table("change", title=f"{given.clusters} clusters in {seconds:.0f} s")
    table.add_column("gangs that started by it", justify="right")
    for change, number in sorted(started.items()):
        table.add_row(change, str(number))
    table.add_row("did not start", str(len(failed)))
    Console().print(table)
    return 1 if failed else 0


def _started_in(world: World, seed: int) -> Counter[str]:
    bodies = [*expanded(proposed_changes.cluster(dice_of(seed), int(time.time())))]
    return Counter(each.proposal.change for each in carried_out(world, bodies))


if __name__ == "__main__":
    raise SystemExit(main())
