"""Our devices beside those of kube-scheduler's own allocator, on random worlds.

    python -m differential.devices --worlds 5000 --seed 0

The allocator is the one of Kubernetes' Go module, in a small program that reads a world a line.
All claims of a world are allocated in one call, as those of a gang's members on one node are.
"""

import argparse
import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from differential.device_worlds import NODE, World
from gang_scheduler.decode.devices import objects as decoding
from gang_scheduler.model.devices import NodeView
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.outcomes import Budget, Cut, Found, Outcome, Refused
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.devices.search import allocate
from tools.controlplane import binaries

NAME = "device-allocator"
SECONDS = 1.0
"""How long the allocator may search in one world: it tries equal devices one by one."""

Json = dict[str, Any]


class Allocator:
    """The program: a question a line, an answer a line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, question: Json) -> Json:
        """Return the answer to a question."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps(question) + "\n")
        asked.flush()
        answer: Json = json.loads(answers.readline())
        return answer


@contextlib.contextmanager
def running() -> Iterator[Allocator]:
    """Start the allocator, built first where it is missing."""
    command = [str(binaries.find(NAME))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Allocator(process)


@dataclass
class Report:
    """What came out, by what either said, and every difference that is not explained."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the figures, and the first faults."""
        for said, count in self.outcomes.most_common():
            yield f"{count:6} {said}"
        yield f"{len(self.faults):6} differences"
        yield from self.faults[:5]


def compare(seeds: Iterable[int], seconds: float = SECONDS) -> Report:
    """Return how both answer for the worlds of some seeds."""
    report = Report()
    with running() as allocator:
        for seed in seeds:
            world = World(seed)
            theirs, ours = allocator.ask(world.question(seconds)), outcome(world)
            said = "timeout" if theirs.get("timedOut") else _said(theirs)
            report.outcomes[f"kube-scheduler: {said}, here: {type(ours).__name__}"] += 1
            fault = None if said == "timeout" else _fault(said, theirs, ours)
            if fault:
                report.faults.append(f"seed {seed}: {fault}")
    return report


def outcome(world: World) -> Outcome:
    """Return our answer for a world."""
    claims = [decoding.decode_claim(each) for each in world.claims]
    labels = world.node["metadata"]["labels"]
    return allocate(
        NodeView(NODE, labels),
        claims,
        Pools(map(decoding.decode_slice, world.slices)),
        Taken.of_claims(map(decoding.decode_claim, world.allocated)),
        {each.name: each for each in map(decoding.decode_class, world.classes)},
        Budget(),
    )


def _said(answer: Json) -> str:
    if "allocations" in answer:
        return "found"
    return "error" if answer.get("error") else "none"


def _fault(said: str, theirs: Json, ours: Outcome) -> str | None:
    """Return what is wrong; None for the same answer, and for what is explained."""
    if isinstance(ours, Cut):
        # Our search is bounded by steps. How often that happens is in the figures.
        return None
    if said == "found":
        return _difference(theirs["allocations"], ours)
    if isinstance(ours, Found):
        return f"found here alone: {theirs.get('error')}"
    if said == "error" and "CEL" in theirs["error"]:
        return None if isinstance(ours, Refused) else f"only there: {theirs['error']}"
    if said == "none" and isinstance(ours, Refused) and "does not compile" not in ours.why:
        # An expression that does not compile is said here even if no device comes to it.
        return f"only here: {ours.why}"
    return None


def _difference(theirs: list[Json], ours: Outcome) -> str | None:
    if not isinstance(ours, Found):
        return f"found there alone: {ours}"[:500]
    encoded = [decoding.encode_allocation(each) for each in ours.allocations]
    there, here = _comparable(theirs), _comparable(encoded)
    return None if there == here else f"there {there}, here {here}"[:2000]


def _comparable(allocations: list[Json]) -> list[Json]:
    """Return allocations whose share IDs, which are random there, are only present or absent."""
    copied: list[Json] = json.loads(json.dumps(allocations))
    for each in copied:
        each["devices"]["results"] = each["devices"].get("results") or []
        for result in each["devices"]["results"]:
            if "shareID" in result:
                result["shareID"] = "a share"
    return copied


def main() -> int:
    """Compare, print the figures, and fail on any difference."""
    parser = argparse.ArgumentParser(prog="python -m differential.devices", description=__doc__)
    parser.add_argument("--worlds", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="a world for Kubernetes")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.worlds)
    report = compare(seeds, arguments.seconds)
    print("\n".join(report.lines()))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
