"""What `simulate` decides for a random case with queues, beside what the model of evictions allows.

    python -m property.eviction_differences --seeds 1000 --first 5000 --directory DIRECTORY

goes through many seeds, and writes each case that differs as manifests.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from conformance import queue_manifests
from gang_scheduler.cli import main as command_line
from property import eviction_cases, naive_evictions
from property.eviction_cases import Case, Gang, World
from property.naive_evictions import Answer, Plan
from property.random_evictions import a_case, documents
from support import yaml_texts

CRITERIA = (
    *("over budget", "class", "priority", "least share", "gangs broken", "gangs touched"),
    *("lost work", "pods", "priorities", "shares", "left-over"),
)
Decided = Mapping[str, Any]
"""The JSON of `simulate`."""


def decided(case: Case) -> Decided:
    """Return what one cycle decides."""
    arguments = ["simulate", "-f", "-", "-o", "json", *_options(case)]
    listed = {"apiVersion": "v1", "kind": "List", "items": documents(case)}
    outcome = CliRunner().invoke(command_line, arguments, input=json.dumps(listed))
    if outcome.exit_code:
        raise AssertionError(outcome.output) from outcome.exception
    said: Decided = json.loads(outcome.stdout)
    return said


def _options(case: Case) -> list[str]:
    """Return the flags of a case: no gang is promised a start, which the model knows nothing of."""
    return ["--at", queue_manifests.at(0), "--reservations", "0", *map(str, case["args"])]


def differences(case: Case) -> list[str]:
    """Return in words where `simulate` and the model differ.

    The order of turns is not judged: it is taken from what was decided, as far as that says it.
    """
    said = decided(case)
    world = eviction_cases.world(case, {})
    placed = _placed(said)
    found = []
    for order in permutations(world.pending):
        found = list(_in_order(world, order, said, placed))
        if not found:
            break
    return found


def _placed(said: Decided) -> dict[str, list[str]]:
    """Return the nodes of each gang that is bound or nominated."""
    found: dict[str, list[str]] = {}
    for row in (*said["bindings"], *said["nominations"]):
        found.setdefault(_short(row["gang"]), []).append(row["node"])
    return found


def _in_order(
    world: World, order: tuple[Gang, ...], said: Decided, placed: Mapping[str, list[str]]
) -> Iterator[str]:
    for gang in order:
        answer = naive_evictions.answer(world, gang)
        rows = [row for row in said["victims"] if _short(row["preemptor"]) == gang.name]
        yield from _judged(world, gang, answer, rows, is_placed=gang.name in placed)
        if gang.name not in placed and world.tree_of(gang.leaf).rules[gang.leaf].reclaim != "Any":
            # It keeps quota of its owner's from those that come later.
            return
        gone = Counter(_short(row["gang"]) for row in rows)
        there = replace(
            gang,
            pods=len(placed.get(gang.name, ())),
            nodes=tuple(placed.get(gang.name, ())),
            flavors=answer.flavors or {},
            evictable=False,
        )
        left = [
            replace(each, pods=each.pods - gone[each.name], nodes=_rest(each, rows))
            for each in world.running
            if gone[each.name] < each.pods
        ]
        world = replace(world, running=[*left, there] if there.pods else left)


def _rest(gang: Gang, rows: list[Decided]) -> tuple[str, ...]:
    """Return the nodes of the members that are not evicted."""
    left = list(gang.nodes)
    for row in rows:
        if _short(row["gang"]) == gang.name:
            left.remove(row["node"])
    return tuple(left)


def _judged(
    world: World, gang: Gang, answer: Answer, rows: list[Decided], *, is_placed: bool
) -> Iterator[str]:
    gone = dict(Counter(_short(row["gang"]) for row in rows))
    classes = {_short(row["gang"]): row.get("class") for row in rows}
    if is_placed != (answer.fits or bool(answer.plans)) or bool(gone) != bool(answer.plans):
        yield (
            f"verdict on {gang.name}: placed {is_placed}, evicted {gone} as {classes}; "
            f"fits {answer.fits}, {_shown(answer.plans)}"
        )
    elif gone and not any(dict(plan.members) == gone for plan in answer.plans):
        yield _dearer(world, gang, answer, gone, classes)
    elif gone:
        [plan] = [plan for plan in answer.plans if dict(plan.members) == gone]
        if dict(plan.shown) != classes:
            yield f"classes: {classes} instead of {dict(plan.shown)}"


def _dearer(
    world: World, gang: Gang, answer: Answer, gone: dict[str, int], classes: Mapping[str, Any]
) -> str:
    """Return why other victims than the cheapest are wrong."""
    asking = naive_evictions.with_flavors(gang, answer.flavors or {})
    plans = naive_evictions.Judge(world, asking).plans()
    found = next((plan for plan in plans if dict(plan.members) == gone), None)
    best = answer.plans[0]
    if found is None:
        return f"unlawful: {gone} as {classes}; the cheapest: {_shown(answer.plans)}"
    pairs = zip(CRITERIA, found.cost, best.cost, strict=True)
    differing = (each for each in pairs if each[1] != each[2])
    name, cost, least = next(differing, ("nothing, but a victim can be spared", "", ""))
    return f"dearer by {name}: {gone} with {cost} instead of {_shown(answer.plans)} with {least}"


def _shown(plans: tuple[Plan, ...]) -> str:
    if not plans:
        return "there is no lawful set"
    return " or ".join(f"{dict(plan.members)} as {dict(plan.shown)}" for plan in plans)


def _short(key: str) -> str:
    return key.removeprefix("default/")


def main() -> int:
    """Go through seeds and print what differs."""
    parser = argparse.ArgumentParser(prog="python -m property.eviction_differences")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    found = 0
    for seed in range(options.first, options.first + options.seeds):
        case = a_case(seed)
        for difference in differences(case):
            found += 1
            print(f"{seed}: {difference}", flush=True)
            if options.directory is not None:
                _write(options.directory / f"found-{seed}.yaml", case, difference)
    print(f"{found} of {options.seeds} differ")
    return min(found, 1)


def _write(path: Path, case: Case, difference: str) -> None:
    arguments = " ".join(_options(case))
    said = yaml_texts.written_all(documents(case))
    path.write_text(f"# simulate {arguments}\n# {difference}\n{said}")


if __name__ == "__main__":
    sys.exit(main())
