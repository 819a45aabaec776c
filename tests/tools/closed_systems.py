"""Looks for closed systems that go round, or in which a gang waits that could reclaim.

`python -m tools.closed_systems --systems 5000 --seed 1`. What breaks a law is printed with its
seed, and written with no more gangs than it takes where `simulate -f FILE --until-settled
--recreate-victims` can read it.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import structlog
import yaml

from property import closed_laws, closed_systems
from property.closed_systems import System


def main() -> int:
    """Look at systems; the exit status is 1 if a law is broken."""
    asked = _arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    began, broken, evictions = time.monotonic(), 0, Counter[int]()
    for seed in range(asked.seed, asked.seed + asked.systems):
        system = closed_systems.system(seed)
        life = closed_laws.live(system)
        evictions[life.evictions] += 1
        faults = [*closed_laws.faults(system, life)]
        if faults:
            broken += 1
            print(f"seed {seed}: {faults[0]}\n  {_kept(seed, _smaller(system), asked.out)}")
    seconds = time.monotonic() - began
    print(f"{asked.systems} systems in {seconds:.0f} s, {broken} broken; evictions of a system:")
    print(", ".join(f"{times} in {number}" for times, number in sorted(evictions.items())))
    return bool(broken)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.closed_systems", description=__doc__)
    parser.add_argument("--systems", type=int, default=1000, help="how many systems")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--out", type=Path, default=Path("build/closed"), help="where to keep them")
    return parser.parse_args()


def _smaller(system: System) -> System:
    """Return a system that breaks a law still, and would not with any gang less."""
    for gang in system.gangs:
        fewer = replace(system, gangs=[each for each in system.gangs if each is not gang])
        if _is_broken(fewer):
            return _smaller(fewer)
    return system


def _is_broken(system: System) -> bool:
    return any(closed_laws.faults(system, closed_laws.live(system)))


def _kept(seed: int, system: System, out: Path) -> str:
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{seed}.yaml"
    path.write_text(yaml.safe_dump_all(system.documents()))
    return f"{path} --kueue-fairness {system.kueue_fairness}"


if __name__ == "__main__":
    sys.exit(main())
