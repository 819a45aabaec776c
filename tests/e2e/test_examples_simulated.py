"""Every directory of examples/ goes through `simulate`, and ends there as on a cluster."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gang_scheduler.cli import main
from tools.demo import cluster, differences, examples
from tools.demo.examples import Example, Outcome

NAMESPACE = "default"
COMMAND = re.compile(r"^    \.venv/bin/py-gang-scheduler (simulate .*)$", re.MULTILINE)

EVERY = examples.directories()
WITH_DELETION = [each for each in EVERY if examples.load(each).then]
WITH_TOPOLOGY = [each for each in EVERY if any(each.glob("*topology.yaml"))]


@pytest.mark.parametrize("directory", EVERY, ids=lambda path: path.name)
def test_an_example_ends_as_on_a_cluster(directory: Path) -> None:
    example = examples.load(directory)

    decided = simulate("-f", str(example.nodes_file), "-f", str(directory))

    assert [] == list(unlike(decided, example, example.outcome))


@pytest.mark.parametrize("directory", WITH_DELETION, ids=lambda path: path.name)
def test_without_the_manifest_that_is_deleted_it_ends_as_after_that(directory: Path) -> None:
    example = examples.load(directory)
    assert example.then
    left = [each for each in examples.manifests(directory) if each != example.then.manifest]

    files = [argument for each in (example.nodes_file, *left) for argument in ("-f", str(each))]
    decided = simulate(*files)

    assert [] == list(unlike(decided, example, example.then.outcome))


@pytest.mark.parametrize("directory", WITH_TOPOLOGY, ids=lambda path: path.name)
def test_the_readme_of_an_example_with_a_topology_says_how_to_simulate_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = COMMAND.findall((directory / "README.md").read_text())
    example = examples.load(directory)
    monkeypatch.chdir(cluster.CHECKOUT)

    told = CliRunner().invoke(main, command.split())

    assert 0 == told.exit_code
    assert str(example.nodes_file.relative_to(cluster.CHECKOUT)) in command
    assert "ClusterNetworkTopology default" in told.output


def simulate(*arguments: str) -> Mapping[str, Any]:
    """Return what `simulate` decides."""
    done = CliRunner().invoke(main, ["simulate", "--until-settled", "-o", "json", *arguments])
    assert 0 == done.exit_code, done.output
    decided: Mapping[str, Any] = json.loads(done.stdout)
    return decided


def unlike(decided: Mapping[str, Any], example: Example, outcome: Outcome) -> Iterable[str]:
    """Yield what is otherwise than expected."""
    scheduled = {called(each["gang"], example): each for each in decided["gangs"]}
    admitted = {each["object"].partition(" ")[2] for each in decided.get("admissions", ())}
    started = {called(name, example) for name in admitted}
    for gang, count in outcome.bound.items():
        # What waits suspended has pods only once it is started.
        counted = "members" if gang in started else "scheduled"
        found = scheduled[gang][counted] if gang in scheduled else 0
        if found != count:
            yield f"{found} of {gang} are scheduled, not {count}"
    for gang, domain in outcome.domain.items():
        found = scheduled[gang]["domain"]
        if domain != "/".join((found["layer"], *found["path"])):
            yield f"{gang} is in {found}"
    messages = {called(each["gang"], example): each for each in decided["unschedulable"]}
    for gang, why in outcome.waiting.items():
        found = messages.get(gang, {})
        if why.reason != found.get("reason") or why.message not in found.get("message", ""):
            yield f"{gang} waits because of {found}"
    places: dict[str, list[str]] = {}
    for each in decided["bindings"]:
        places.setdefault(called(each["gang"], example), []).append(each["node"])
    # Pods that run from the start are in no binding.
    yield from differences.of_places(places, labels(example), replace(outcome, bound={}))


def called(gang: str, example: Example) -> str:
    """Return the name of a gang as the example says it."""
    return gang if example.namespaces else gang.removeprefix(f"{NAMESPACE}/")


def labels(example: Example) -> dict[str, dict[str, str]]:
    """Return the labels of the nodes that an example supposes, by name."""
    nodes = yaml.safe_load_all(example.nodes_file.read_text())
    return {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}
