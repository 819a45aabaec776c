"""The directories of examples/, and the outcome that each declares in its expected.toml.

    needs = ["jobset"]           # optional: what the cluster must have beside our CRDs, see NEEDS
    cluster = "racks"            # optional: its nodes, a file of clusters/ beside the examples;
                                 # else those of the demo
    namespaces = ["a", "b"]      # optional: where its objects say that they are, instead of
                                 # wherever they are applied; gangs are then called namespace/gang
    [bound]             # pods that have a node, by gang; a pod without a gang counts as its own
    llama-pretrain = 4

    [waiting.vision]    # PodGroups that wait: reason, and a part of the message, of the condition
    reason = "Unschedulable"     # Scheduled; there is an Event with the same words
    message = "nvidia.com/gpu"

    [nodes]             # optional: the nodes of a gang's members in the order of their ranks
    solver = ["node-5", "node-6"]

    [spans.solver]      # optional: how many domains a gang is in, by the key of a node label
    "example.com/block" = 2

    [domain]            # optional: what the status of a PodGroup says of where its gang is
    solver = "SpineLayer/spine-1"

    [then]              # optional: what comes of it when one of the manifests is deleted
    delete = "1-in-the-way.yaml"
    bound = { vision = 7 }       # and the others, as above

TOML, because `kubectl apply -f DIRECTORY` takes every YAML file for a manifest.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CLUSTERS = EXAMPLES / "clusters"
GPU_NODES = CLUSTERS / "gpu-nodes.yaml"
EXPECTED = "expected.toml"
NATIVE_GANGS = "native-gangs"
JOB_SET = "jobset"
KUEUE = "kueue"
CONTROLLERS = frozenset({"training-operator", "lws"})
"""Controllers of jobs as `tools.controllers` runs them, with their CRDs."""
PROCESSES = "processes"
NEEDS = {NATIVE_GANGS, JOB_SET, KUEUE, PROCESSES, *CONTROLLERS}
"""An API server that serves PodGroups of its own; the CRD of JobSets, and a stand-in for their
controller; the CRDs of Kueue's queues, without its controller; nodes that run containers as
processes of this machine, and a shared claim `home`; real controllers."""
Needs = tuple[str, ...]


class InvalidExample(ValueError):  # noqa: N818 - reads as what it is.
    """An example that does not say what is expected of it, or in an unknown way."""


@dataclass(frozen=True)
class Waiting:
    """Why a gang waits."""

    reason: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """How things stand once all that can start has started."""

    bound: Mapping[str, int]
    waiting: Mapping[str, Waiting]
    nodes: Mapping[str, tuple[str, ...]]
    spans: Mapping[str, Mapping[str, int]]
    domain: Mapping[str, str]


@dataclass(frozen=True)
class Deletion:
    """A manifest that is deleted in the end, and what comes of it."""

    manifest: Path
    outcome: Outcome


@dataclass(frozen=True)
class Example:
    """One directory of examples/."""

    directory: Path
    title: str
    outcome: Outcome
    then: Deletion | None
    needs: Needs = ()
    namespaces: tuple[str, ...] = ()
    nodes_file: Path = GPU_NODES

    @property
    def runs_on_the_demo(self) -> bool:
        """It needs nothing that the demo's cluster has not."""
        return self.make_up == "make up"

    @property
    def needs_controllers(self) -> bool:
        """It needs real controllers of jobs, which take minutes to build the first time."""
        return not CONTROLLERS.isdisjoint(self.needs)

    @property
    def make_up(self) -> str:
        """The command that starts a cluster for it."""
        nodes = [] if self.nodes_file == GPU_NODES else [f"NODES={self.nodes_file.stem}"]
        return " ".join(["make up", *nodes, *(f"WITH={need}" for need in self.needs)])

    def prefixes(self, applied_in: str) -> dict[str, str]:
        """Return the namespaces of its objects, each with what the names of gangs begin with."""
        return {name: f"{name}/" for name in self.namespaces} or {applied_in: ""}


def directories() -> list[Path]:
    """Return the directories of all examples, in order."""
    return sorted(each for each in EXAMPLES.iterdir() if each.is_dir() and each != CLUSTERS)


def load(directory: Path) -> Example:
    """Return an example; InvalidExample where its README or expectation is missing or wrong."""
    for name in ("README.md", EXPECTED):
        if not (directory / name).is_file():
            raise InvalidExample(f"{directory.name} has no {name}")
    title = (directory / "README.md").read_text().partition("\n")[0].removeprefix("# ")
    expected = tomllib.loads((directory / EXPECTED).read_text())
    try:
        then = expected.pop("then", None)
        needs, namespaces = (_words(expected.pop(key, [])) for key in ("needs", "namespaces"))
        _check(needs)
        nodes = _nodes_in_clusters(expected.pop("cluster", GPU_NODES.stem))
        outcome = _outcome(expected)
        deletion = _deletion(directory, then) if then else None
        return Example(directory, title, outcome, deletion, needs, namespaces, nodes)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidExample(f"{directory.name}/{EXPECTED}: {error!r}") from error


def fitting(nodes: Path, needs: Needs) -> list[Example]:
    """Return the examples that suppose these nodes, and of which the cluster has all needs."""
    every = [load(directory) for directory in directories()]
    return [each for each in every if each.nodes_file == nodes and set(each.needs) <= set(needs)]


def nodes_file(name: str) -> Path:
    """Return the nodes that a name in clusters/ or a path means; else ValueError."""
    known = CLUSTERS / f"{name}.yaml"
    file = known if known.is_file() else Path(name).resolve()
    if not file.is_file():
        names = ", ".join(sorted(each.stem for each in CLUSTERS.glob("*.yaml")))
        raise ValueError(f"no file {name}, and no such name in examples/clusters: {names}")
    return file


def manifests(directory: Path) -> Iterator[Path]:
    """Yield the files that `kubectl apply -f DIRECTORY` reads."""
    yield from sorted(each for each in directory.iterdir() if each.suffix == ".yaml")


def _word(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{found!r} is no word")
    return found


def _words(found: object) -> tuple[str, ...]:
    if not isinstance(found, list):
        raise TypeError(f"{found!r} is no list of words")
    return tuple(map(_word, found))


def _check(needs: Sequence[str]) -> None:
    if unknown := set(needs) - NEEDS:
        raise ValueError(f"nobody knows how to provide {', '.join(sorted(unknown))}")


def _nodes_in_clusters(name: object) -> Path:
    file = CLUSTERS / f"{_word(name)}.yaml"
    if not file.is_file():
        raise ValueError(f"there is no {file.name} in {CLUSTERS.name}")
    return file


def _deletion(directory: Path, then: dict[str, Any]) -> Deletion:
    manifest = directory / then.pop("delete")
    if not manifest.is_file():
        raise ValueError(f"there is no {manifest.name}")
    return Deletion(manifest, _outcome(then))


def _outcome(table: dict[str, Any]) -> Outcome:
    outcome = Outcome(
        bound=_numbers(table.pop("bound")),
        waiting={gang: Waiting(**why) for gang, why in table.pop("waiting", {}).items()},
        nodes={gang: _words(nodes) for gang, nodes in table.pop("nodes", {}).items()},
        spans={gang: _numbers(spans) for gang, spans in table.pop("spans", {}).items()},
        domain={gang: _word(domain) for gang, domain in table.pop("domain", {}).items()},
    )
    if table:
        raise ValueError(f"unknown: {', '.join(table)}")
    return outcome


def _numbers(table: dict[str, Any]) -> dict[str, int]:
    return {name: int(number) for name, number in table.items()}
