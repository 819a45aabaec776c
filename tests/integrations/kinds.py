"""The table of kinds: a file of `workloads/` each, of an object and the pods that come of it.

controller     the row of `tools.controllers` that makes the pods, and flags
workload       the object: as its users write it, but for what tests add to templates of pods
roles          what starts together: quorum, and how names of pods of that role look
late           optional: roles whose pods come when all others run
scale          optional: the path of the count that grows a gang
pods           all pods, in the order of names: exactly these names, owners, labels and so on,
               where `*` and `?` stand for what is drawn by chance
pod_groups     optional: the PodGroups that the controller makes, likewise
"""

import copy
import fnmatch
import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.support import manifests
from e2e.support.manifests import Manifest

INIT_CONTAINERS = ("wait-gcs-ready", "init-pytorch", "kubectl-delivery")
NO_TEXTS: Mapping[str, str] = {}
WORKLOADS = Path(__file__).parent / "workloads"


@dataclass(frozen=True)
class Role:
    """A part of a gang."""

    quorum: int
    pods: str
    """What the names of its pods look like."""

    def has(self, pod: str) -> bool:
        """Say by its name whether a pod is of this role."""
        return fnmatch.fnmatch(pod, self.pods)


@dataclass(frozen=True)
class Scale:
    """How a workload grows."""

    path: tuple[str | int, ...]
    adds: int = 1


@dataclass(frozen=True)
class Kind:
    """A kind of workload, by one example. Its name is that of its file."""

    name: str
    controller: tuple[str, ...]
    workload: Manifest
    roles: Mapping[str, Role]
    late: tuple[str, ...]
    least_room: int | None
    replaces: bool
    scale: Scale | None
    pods: tuple[Manifest, ...]
    pod_groups: tuple[Manifest, ...]

    @property
    def at_once(self) -> bool:
        """Say whether its controller makes all pods before any runs."""
        return not self.late

    @property
    def made_first(self) -> int:
        """How many pods there are before any runs."""
        return sum(count for role, count in self.sizes.items() if role not in self.late)

    @property
    def sizes(self) -> dict[str, int]:
        """How many pods each role has."""
        names = [each["name"] for each in self.pods]
        return {name: sum(map(role.has, names)) for name, role in self.roles.items()}

    @property
    def quorum_cpus(self) -> int:
        """How many CPUs the quorum needs on one node."""
        return math.ceil(sum(self._cpus(role) for role in self.roles.values()))

    @property
    def room(self) -> int:
        """From how many CPUs on the first pods start."""
        return self.quorum_cpus if self.least_room is None else self.least_room

    def manifest(self, annotations: Mapping[str, str] = NO_TEXTS, **pod_fields: Any) -> Manifest:
        """Return the object, with pods of our scheduler of one CPU, and more in their specs."""
        made = copy.deepcopy(self.workload)
        for template in _templates(made):
            metadata = template.setdefault("metadata", {})
            metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
            spec = template["spec"]
            example = manifests.pod("any", **pod_fields)["spec"]
            first, *others = spec["containers"]
            requests = example.pop("containers")[0]["resources"]
            spec.update(example, containers=[first | {"resources": requests}, *others])
        return made

    def role_of(self, pod: str) -> str | None:
        """Return the role of a pod by its name."""
        return next((name for name, role in self.roles.items() if role.has(pod)), None)

    def _cpus(self, role: Role) -> float:
        """Return the CPUs of a role's quorum: of those of its pods that ask for the least."""
        asked = [_cpus(each["requests"]) for each in self.pods if role.has(each["name"])]
        return sum(sorted(asked)[: role.quorum])


@functools.cache
def every() -> tuple[Kind, ...]:
    """Return all kinds: those of one controller next to each other."""
    found = [_load(file) for file in WORKLOADS.glob("*.yaml")]
    return tuple(sorted(found, key=lambda each: (each.controller, each.name)))


def _load(file: Path) -> Kind:
    read = yaml.safe_load(file.read_text())
    return Kind(
        name=file.stem,
        controller=tuple(read["controller"]),
        workload=read["workload"],
        roles={name: Role(**each) for name, each in read["roles"].items()},
        late=tuple(read.get("late", ())),
        least_room=read.get("room"),
        replaces=read.get("replaces", True),
        scale=_scale(read.get("scale")),
        pods=tuple(read.get("pods", ())),
        pod_groups=tuple(read.get("pod_groups", ())),
    )


def _scale(read: Mapping[str, Any] | None) -> Scale | None:
    return Scale(tuple(read["path"]), read.get("adds", 1)) if read else None


def _cpus(requests: Mapping[str, Mapping[str, str]]) -> float:
    """Add up what containers ask for, as a table row has it; init containers ask for less here."""
    asked = [each.get("cpu", "0") for name, each in requests.items() if name not in INIT_CONTAINERS]
    return sum(
        float(each.removesuffix("m")) / (1000 if each.endswith("m") else 1) for each in asked
    )


def _templates(part: Any) -> Iterator[Manifest]:
    """Yield whatever has a spec with containers."""
    if isinstance(part, dict):
        if "containers" in part.get("spec", {}):
            yield part
        else:
            for each in part.values():
                yield from _templates(each)
    elif isinstance(part, list):
        for each in part:
            yield from _templates(each)
