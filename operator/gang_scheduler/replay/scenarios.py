"""The cluster of each policy: its objects and settings, as `simulate` would read them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from gang_scheduler.api.parsing import InvalidField, shortened
from gang_scheduler.from_settings import membership
from gang_scheduler.model import similar_names
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.resources import CPU, MEMORY, amount_of, quantity
from gang_scheduler.model.wording import counted
from gang_scheduler.recording.file_format import KEPT, NODE, NodeChange, Recorded
from gang_scheduler.replay.jobs import NodesWanted, Trace, UnreadableJobs
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, snapshot_files
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.snapshot_files import Stored

QUEUES: Final = frozenset({"Queue", "ClusterQueue"})
NAMED: Final = QUEUES | {"LocalQueue"}
GPU: Final = "nvidia.com/gpu"
GPU_TYPE: Final = "nvidia.com/gpu.product"
"""The label of nodes that says which GPUs they have."""
BLOCK, RACK = "network/block", "network/rack"
NODES_A_RACK, RACKS_A_BLOCK = 16, 8
PLENTY: Final = {CPU: "100000", MEMORY: "1Pi", "pods": "10000"}
"""An amount so large that these resources of generated nodes never run short."""
AS_IS: Final = "as-is"
BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    AS_IS: {},
    "no-preemption": {"preemption": False},
    "no-reservations": {"reservations": 0},
    "strict-fifo": {"queueStrategy": "StrictFIFO"},
    "pod-by-pod": {"podByPod": True},
}
"""Policies that need no file."""
_OWN: Final = ("moreNodes", "nodes", "podByPod", "queueFairness", "queueStrategy")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A policy with its cluster.

    `pod_by_pod`: there are no gangs, and pods are placed one by one. `changes` are the recorded
    changes of its nodes.
    """

    name: str
    objects: Objects
    policy: Policy
    pod_by_pod: bool = False
    changes: Sequence[NodeChange] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the cluster."""
        return tuple(each.decoded for each in self.objects.loaded if isinstance(each.decoded, Node))

    @property
    def has_queues(self) -> bool:
        """Whether gangs are in queues."""
        return any(each.gvr.plural.endswith("queues") for each in self.objects.loaded)


@dataclass(frozen=True, slots=True)
class Given:
    """The command-line options about the cluster and its policies."""

    cluster: Sequence[str] = ()
    nodes: str = ""
    policies: Sequence[str] = ()
    make_queues: bool = True


class Clusters:
    """The objects of a cluster from which scenarios are made. `notes` are lines for users.

    Jobs that were `recorded` bring their cluster along, unless another one is given.
    """

    def __init__(self, given: Given, recorded: Recorded | None = None, shown: str = "") -> None:
        self._given = given
        self.notes: list[str] = []
        found: list[Item] = list(documents.read(given.cluster)) if given.cluster else []
        self._changes: Sequence[NodeChange] = ()
        if recorded is not None and not given.cluster:
            found = list(documents.of_recording(shown, recorded))
            self._changes = () if given.nodes else recorded.changes
        wrong = [each for each in found if isinstance(each, Problem)]
        if wrong:
            raise UnreadableInput(wrong)
        self._items = self._kept(found)
        try:
            self._policy, told = snapshot_files.policy_of(
                snapshot_files.header_among(found), Policy()
            )
        except InvalidField as error:
            raise UnreadableInput([Problem(str(error))]) from error
        self.notes += told

    @property
    def classes(self) -> Mapping[str, int]:
        """The values of the PriorityClasses."""
        bodies = (each.body for each in self._items if isinstance(each, Document))
        return {
            body["metadata"]["name"]: body["value"]
            for body in bodies
            if body.get("kind") == "PriorityClass" and isinstance(body.get("value"), int)
        }

    def scenarios(self, trace: Trace) -> list[Scenario]:
        """Return the scenario of each policy. Raises UnreadableInput or UnreadableJobs."""
        base = self._with_nodes(trace)
        policies = [_policy(text) for text in self._given.policies] or [(AS_IS, [], {})]
        twice = {name for name, _, _ in policies if sum(name == each[0] for each in policies) > 1}
        if twice:
            raise UnreadableJobs([f"--policy: there are two called {min(twice)}"])
        return [
            self._scenario(name, _merged(base, items), settings, trace)
            for name, items, settings in policies
        ]

    def _kept(self, found: Iterable[Item]) -> list[Item]:
        kept, left = [], 0
        for each in found:
            if isinstance(each, Problem) or _key(each)[0] in KEPT:
                kept.append(each)
            else:
                left += 1
        if left:
            self.notes.append(f"--cluster: ignored: {counted(left, 'object')} that a replay makes")
        return kept

    def _with_nodes(self, trace: Trace) -> list[Item]:
        text = self._given.nodes
        wanted = nodes_of("--nodes", text) if text else None
        if not text and not any(_key(each)[0] == NODE for each in self._items):
            wanted = trace.nodes
            if wanted is not None:
                self.notes.append(f"the nodes are those that the {trace.form} file names")
        if wanted is None:
            if any(_key(each)[0] == NODE for each in self._items):
                return self._items
            raise UnreadableJobs(["there are no nodes: give --cluster FILE, or --nodes 300x8"])
        self.notes.append(_said(wanted))
        others = [each for each in self._items if _key(each)[0] != NODE]
        network = [] if _has(others, "ClusterNetworkTopology") else [_network()]
        return [*others, *network, *_made("node", wanted)]

    def _scenario(
        self, name: str, items: list[Item], settings: Mapping[str, Any], trace: Trace
    ) -> Scenario:
        own = {key: settings[key] for key in _OWN if key in settings}
        where = f"--policy {name}"
        changes = () if "nodes" in own else self._changes
        if "nodes" in own:
            items = [each for each in items if _key(each)[0] != NODE]
            items += _made("node", nodes_of(where, str(own["nodes"])))
        if "moreNodes" in own:
            items = [*items, *_made("more", nodes_of(where, str(own["moreNodes"])))]
        if self._given.make_queues and not any(_has(items, kind) for kind in QUEUES):
            items = [*items, *self._queues(items, trace)]
        if "queueStrategy" in own:
            items = [_with_strategy(each, str(own["queueStrategy"])) for each in items]
        if "queueFairness" in own:
            items = _with_fairness(items, str(own["queueFairness"]))
        policy = _settings(where, self._policy, settings)
        self._note_unknown(items, trace)
        loaded = objects.load(
            items,
            policy.rules.gangs.scheduler_names[0],
            membership=membership(policy),
            at=trace.begin,
        )
        for note in loaded.notes:
            if note not in self.notes:
                self.notes.append(note)
        by_pod = own.get("podByPod") is True
        return Scenario(name, loaded, policy, pod_by_pod=by_pod, changes=changes)

    def _note_unknown(self, items: Sequence[Item], trace: Trace) -> None:
        """Note the queues and GPUs of jobs that the cluster does not have."""
        known = {_key(each)[3] for each in items if _key(each)[0] in NAMED}
        missing = sorted({job.queue for job in trace.jobs if job.queue} - known)
        notes = []
        if known and missing:
            number = sum(job.queue in missing for job in trace.jobs)
            names = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            notes.append(f"no such queue: {names}: {counted(number, 'job')} never start")
        bodies = (each.body for each in items if isinstance(each, Document))
        labels = (body.get("metadata", {}).get("labels") or {} for body in bodies)
        types = {str(each[GPU_TYPE]).lower() for each in labels if GPU_TYPE in each}
        lacking = sorted({job.gpu_type for job in trace.jobs if job.gpu_type.lower() not in types})
        if any(lacking) and not any(isinstance(each, Stored) for each in items):
            names = ", ".join(filter(None, lacking))
            notes.append(f"GPU types that no node has as {GPU_TYPE} are ignored: {names}")
        self.notes += [note for note in notes if note not in self.notes]

    def _queues(self, items: Iterable[Item], trace: Trace) -> list[Item]:
        """Return a Queue for each queue that jobs name, all with the same quota."""
        names = sorted({job.queue for job in trace.jobs if job.queue})
        if not names:
            return []
        bodies = [each.body for each in items if isinstance(each, Document)]
        nodes = [body for body in bodies if body.get("kind") == NODE]
        resource = GPU if any(job.gpu for job in trace.jobs) else CPU
        total = sum(
            amount_of(resource, body.get("status", {}).get("allocatable", {}).get(resource, 0))
            for body in nodes
        )
        each = quantity(resource, math.ceil(total / len(names)))
        note = (
            f"there are no queues: replay added {counted(len(names), 'Queue')} of equal quota that "
            "lend to each other; --no-make-queues leaves them out"
        )
        if note not in self.notes:
            self.notes.append(note)
        return [
            _document(
                "py-gang-scheduler.io/v1alpha1",
                "Queue",
                name,
                {"quota": {"soft": {resource: each}}, "borrowing": {"enabled": True}},
            )
            for name in names
        ]


def nodes_of(where: str, text: str) -> NodesWanted:
    """Return the nodes described by a text such as 300x8 or 10x4,cpu=64,memory=512Gi,type=a100."""
    size, *more = (part.strip() for part in text.split(","))
    number, x, gpus = size.partition("x")
    wrong = f'{where}: "{text}" must be like 300x8, or 300x8,cpu=128,memory=1Ti,type=a100'
    if not (x and number.isdigit() and gpus.isdigit() and 0 < int(number) <= 100_000):
        raise UnreadableJobs([wrong])
    wanted = NodesWanted(int(number), int(gpus))
    for part in more:
        name, _, value = part.partition("=")
        try:
            if name == "cpu":
                wanted = replace(wanted, cpu=amount_of(CPU, value))
            elif name == "memory":
                wanted = replace(wanted, memory=amount_of(MEMORY, value))
            elif name == "type":
                wanted = replace(wanted, gpu_type=value)
            else:
                raise UnreadableJobs([wrong])
        except ValueError:
            raise UnreadableJobs([wrong]) from None
    return wanted


def _said(wanted: NodesWanted) -> str:
    free = [name for name, amount in (("CPU", wanted.cpu), ("memory", wanted.memory)) if not amount]
    limited = f"; no limit of {' or '.join(free)}" if free else ""
    racks = f"racks of {NODES_A_RACK}, blocks of {RACKS_A_BLOCK} racks"
    return f"made {counted(wanted.number, 'node')} of {wanted.gpu} GPUs, {racks}{limited}"


def _made(prefix: str, wanted: NodesWanted) -> list[Item]:
    allocatable = dict(PLENTY)
    if wanted.cpu is not None:
        allocatable[CPU] = quantity(CPU, wanted.cpu)
    if wanted.memory is not None:
        allocatable[MEMORY] = quantity(MEMORY, wanted.memory)
    if wanted.gpu:
        allocatable[GPU] = str(wanted.gpu)
    digits = len(str(wanted.number - 1))
    return [
        _node(f"{prefix}-{number:0{digits}d}", prefix, number, wanted, allocatable)
        for number in range(wanted.number)
    ]


def _node(
    name: str, prefix: str, number: int, wanted: NodesWanted, allocatable: Mapping[str, str]
) -> Document:
    rack = number // NODES_A_RACK
    labels = {
        "kubernetes.io/hostname": name,
        RACK: f"{prefix}-rack-{rack}",
        BLOCK: f"{prefix}-block-{rack // RACKS_A_BLOCK}",
    }
    if wanted.gpu_type:
        labels[GPU_TYPE] = wanted.gpu_type
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }
    return Document("--nodes", number + 1, body)


def _network() -> Document:
    layers = [
        {"topologyLayer": "BlockLayer", "labelKey": [BLOCK]},
        {"topologyLayer": "RackLayer", "parentTopologyLayer": "BlockLayer", "labelKey": [RACK]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
    ]
    spec = {"networkTopologySpec": layers}
    version = "scheduling.koordinator.sh/v1alpha1"
    return _document(version, "ClusterNetworkTopology", "default", spec)


def _document(version: str, kind: str, name: str, spec: Mapping[str, Any]) -> Document:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return Document("(made)", 1, body)


def _key(item: Item) -> tuple[str, str, str, str]:
    """Return kind, API group, namespace and name of an object."""
    if isinstance(item, Problem):
        return "", "", "", ""
    if not isinstance(item, Document):
        return snapshot_files.key_of(item)
    body = item.body
    given = body.get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    kind, name = str(body.get("kind", "")), str(metadata.get("name", ""))
    return kind, group, str(metadata.get("namespace", "")), name


def _has(items: Iterable[Item], kind: str) -> bool:
    return any(_key(each)[0] == kind for each in items)


def _merged(base: Sequence[Item], more: Sequence[Item]) -> list[Item]:
    """Return the objects of a cluster; objects of a policy replace those with the same name."""
    new = {_key(each): each for each in more if not isinstance(each, Problem)}
    wrong = [each for each in more if isinstance(each, Problem)]
    return [*(each for each in base if _key(each) not in new), *new.values(), *wrong]


Parsed = tuple[str, list[Item], Mapping[str, Any]]


def _policy(text: str) -> Parsed:
    """Return the name, the objects and the settings of NAME=FILE, or of a policy without a file."""
    name, equals, file = text.partition("=")
    if not equals:
        if name not in BUILT_IN:
            known = ", ".join(BUILT_IN)
            raise UnreadableJobs([f"--policy {name}: must be NAME=FILE, or one of {known}"])
        return name, [], BUILT_IN[name]
    if not name:
        raise UnreadableJobs([f"--policy {text}: has no name before ="])
    items: list[Item] = []
    settings: dict[str, Any] = {}
    for each in documents.read([file]):
        if isinstance(each, Document) and "kind" not in each.body:
            settings |= each.body
        else:
            items.append(each)
    others = sorted({_key(each)[0] for each in items if not isinstance(each, Problem)} - KEPT)
    if others:
        raise UnreadableJobs([f"--policy {name}: a policy has no {', '.join(others)}"])
    return name, items, settings


def _settings(where: str, policy: Policy, given: Mapping[str, Any]) -> Policy:
    """Return the settings of a policy. Raises UnreadableJobs for an unknown setting."""
    changed = {}
    for key, value in given.items():
        name = "".join(f"_{each.lower()}" if each.isupper() else each for each in key)
        if key in _OWN:
            continue
        if name not in Policy.model_fields:
            known = [*_OWN, *map(_camel, Policy.model_fields)]
            near = similar_names.close_to(key, known)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UnreadableJobs([f"{where}: {key}: there is no such setting{hint}"])
        changed[name] = value
    try:
        return Policy(**policy.model_dump() | changed)
    except ValidationError as error:
        first = error.errors()[0]
        name = _camel(str(first["loc"][0]))
        raise UnreadableJobs(
            [f"{where}: {name}: {shortened(first['msg'])}, not {first['input']!r}"]
        ) from error


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _with_strategy(item: Item, strategy: str) -> Item:
    if not isinstance(item, Document) or _key(item)[:2] != ("Queue", "py-gang-scheduler.io"):
        return item
    return replace(item, body={**item.body, "spec": {**item.body["spec"], "strategy": strategy}})


def _with_fairness(items: Sequence[Item], fairness: str) -> list[Item]:
    """Return the objects with this fairness set on the root of our queues."""
    others = [each for each in items if _key(each) != ("Queue", "py-gang-scheduler.io", "", "root")]
    root = next(iter(_roots(items)), {})
    spec = {**root, "fairness": fairness}
    return [*others, _document("py-gang-scheduler.io/v1alpha1", "Queue", "root", spec)]


def _roots(items: Iterable[Item]) -> Iterator[Mapping[str, Any]]:
    for each in items:
        is_root = _key(each) == ("Queue", "py-gang-scheduler.io", "", "root")
        if is_root and isinstance(each, Document):
            yield each.body.get("spec", {})
