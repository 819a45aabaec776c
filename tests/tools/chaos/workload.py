"""What users do while it storms, drawn from a seed: the same seed gives the same steps.

Gangs of every source, with queues and without, of three priorities, come, lose a member, and go;
queues get more or less, nodes are cordoned, or fail and come back. What is left at the end stays.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from e2e.support import gang_manifests, manifests, networks, queues, suspended_jobs
from e2e.support.manifests import Manifest
from support import device_objects

NODES, NODE_CPU = 48, 32
NODES_A_BLOCK, NODES_A_SPINE = 4, 12
DEVICES = 4
"""Of each node. They are fewer than the pods that ask for one fill: gangs wait for devices, too."""
CLAIM_TEMPLATE, EXTENDED_RESOURCE = "one-device", "example.com/gpu"
QUEUES = ("red", "blue", "green")
QUEUE_CPU = NODES * NODE_CPU // 6
"""What each queue is promised: half of the cluster in all, and they lend to each other."""
PRIORITIES = {"chaos-low": 1_000, "chaos-middle": 10_000, "chaos-high": 100_000}
LIFE_SECONDS = (20.0, 120.0)
SIZES = (2, 3, 4, 5, 6, 8)
CPUS = (1, 1, 2, 2, 4)
GRACE_SECONDS = (0, 0, 1, 3)
PODS_A_SECOND = 12.0
LOSES_A_MEMBER = 0.1
CORDON_SECONDS = 7.0
"""How long about between two nodes that are cordoned, and between two changes of queues."""
FAILURE_SECONDS = (10.0, 30.0)
"""Between two nodes that fail."""
NOT_READY_SECONDS, GONE_SECONDS = (1.0, 8.0), (1.0, 12.0)
"""How long a failed node is there and not ready, then gone: its pods outlive less than 40 s."""


@dataclass(frozen=True)
class Gang:
    """Something that waits and starts as one: its documents, and how many pods start it.

    `members` are pods that users create themselves; those of Jobs have other names.
    """

    name: str
    source: str
    min_member: int
    documents: tuple[Manifest, ...]
    pods: int

    @property
    def members(self) -> tuple[Manifest, ...]:
        """The pods among the documents."""
        return tuple(each for each in self.documents if each["kind"] == "Pod")


@dataclass(frozen=True)
class Step:
    """Something that is done `at` seconds after the begin: `do` to a gang, a node or a queue."""

    at: float
    do: str
    gangs: tuple[Gang, ...] = ()
    name: str = ""
    amount: int = 0


@dataclass(frozen=True)
class _Draw:
    """What the shapes of one gang are drawn from."""

    name: str
    size: int
    cpu: int
    dice: random.Random
    namespace: str

    @property
    def fields(self) -> Manifest:
        """The fields of its pods."""
        priority = self.dice.choices(tuple(PRIORITIES), weights=(6, 3, 1))[0]
        return {
            "cpu": self.cpu,
            "priorityClassName": priority,
            "terminationGracePeriodSeconds": self.dice.choice(GRACE_SECONDS),
        }

    def gang(self, source: str, *documents: Manifest, least: int | None = None) -> Gang:
        """Return the gang of some documents."""
        return Gang(self.name, source, least or self.size, documents, self.size)


def _pod_group(draw: _Draw) -> tuple[Gang, ...]:
    return (draw.gang("PodGroup", *manifests.gang(draw.name, draw.size, **draw.fields)),)


def _elastic(draw: _Draw) -> tuple[Gang, ...]:
    least = max(1, draw.size // 2)
    made = manifests.gang(draw.name, draw.size, min_member=least, **draw.fields)
    return (draw.gang("elastic", *made, least=least),)


def _queued(draw: _Draw) -> tuple[Gang, ...]:
    queue = draw.dice.choice(QUEUES)
    return (draw.gang("queued", *queues.gang(draw.name, draw.size, queue, **draw.fields)),)


def _annotated(draw: _Draw) -> tuple[Gang, ...]:
    made = gang_manifests.annotated(draw.name, draw.size, **draw.fields)
    return (draw.gang("annotations", *made),)


def _labelled(draw: _Draw) -> tuple[Gang, ...]:
    return (draw.gang("labels", *gang_manifests.light(draw.name, draw.size, **draw.fields)),)


def _native(draw: _Draw) -> tuple[Gang, ...]:
    made = gang_manifests.native_gang(draw.name, draw.size, **draw.fields)
    return (draw.gang("native PodGroup", *made),)


def _job(draw: _Draw) -> tuple[Gang, ...]:
    made = gang_manifests.evictable_job(draw.name, draw.size, **draw.fields)
    return (draw.gang("Job", made),)


def _suspended_job(draw: _Draw) -> tuple[Gang, ...]:
    queue = draw.dice.choice(QUEUES)
    made = suspended_jobs.job(draw.name, queue, draw.size, **draw.fields)
    return (draw.gang("suspended Job", made),)


def _job_set(draw: _Draw) -> tuple[Gang, ...]:
    made = gang_manifests.evictable_job_set(draw.name, {"w": (2, draw.size)}, **draw.fields)
    return (Gang(f"{draw.name}/w", "JobSet", 2 * draw.size, (made,), 2 * draw.size),)


def _gathered(draw: _Draw) -> tuple[Gang, ...]:
    made = manifests.gang(draw.name, draw.size, **draw.fields)
    strategy = draw.dice.choice(("MustGather", "PreferGather"))
    return (draw.gang("topology", *networks.asking(made, BlockLayer=strategy)),)


def _grouped(draw: _Draw) -> tuple[Gang, ...]:
    fields = draw.fields
    names = (draw.name.replace("-", "a-", 1), draw.name.replace("-", "b-", 1))
    listed = json.dumps([f"{draw.namespace}/{each}" for each in names])
    found = []
    for name in names:
        group, *members = manifests.gang(name, draw.size, **fields)
        group = gang_manifests.annotated_group(group, "groups", listed)
        found.append(Gang(name, "gang group", draw.size, (group, *members), draw.size))
    return tuple(found)


def _claiming(draw: _Draw) -> tuple[Gang, ...]:
    claims = [device_objects.by_template(CLAIM_TEMPLATE)]
    made = manifests.gang(draw.name, draw.size, resourceClaims=claims, **draw.fields)
    return (draw.gang("claims", *made),)


def _sharing(draw: _Draw) -> tuple[Gang, ...]:
    shared = device_objects.claim(f"{draw.name}-shared")
    shared["metadata"] = {"name": shared["metadata"]["name"]}
    claims = [device_objects.by_name(shared["metadata"]["name"])]
    made = manifests.gang(draw.name, draw.size, resourceClaims=claims, **draw.fields)
    return (draw.gang("shared claim", shared, *made),)


def _extended(draw: _Draw) -> tuple[Gang, ...]:
    made = manifests.gang(draw.name, draw.size, **draw.fields)
    for each in made[1:]:
        resources = each["spec"]["containers"][0]["resources"]
        resources["requests"][EXTENDED_RESOURCE] = "1"
        resources["limits"] = {EXTENDED_RESOURCE: "1"}
    return (draw.gang("extended resource", *made),)


def _single(draw: _Draw) -> tuple[Gang, ...]:
    name = f"{draw.name}-0"
    pod = manifests.pod(name, **draw.fields)
    return (Gang(name, "single pod", 1, (pod,), 1),)


SOURCES: dict[str, tuple[int, Callable[[_Draw], tuple[Gang, ...]]]] = {
    "PodGroup": (4, _pod_group),
    "elastic": (2, _elastic),
    "queued": (4, _queued),
    "annotations": (2, _annotated),
    "labels": (1, _labelled),
    "native PodGroup": (2, _native),
    "Job": (3, _job),
    "suspended Job": (3, _suspended_job),
    "JobSet": (1, _job_set),
    "topology": (2, _gathered),
    "gang group": (1, _grouped),
    "single pod": (3, _single),
    "claims": (3, _claiming),
    "shared claim": (1, _sharing),
    "extended resource": (2, _extended),
}
"""How gangs are made, and how often of 34."""


def steps(seed: int, seconds: float, namespace: str, pace: float = PODS_A_SECOND) -> list[Step]:
    """Return all that users do, in order of time: about `pace` pods a second come."""
    dice = random.Random(f"workload {seed}")  # noqa: S311 - chaos keeps no secret.
    drawn = [
        *_gangs(dice, seconds, namespace, pace),
        *_changes(dice, seconds),
        *_failures(dice, seconds),
    ]
    return sorted(drawn, key=lambda each: each.at)


def _gangs(dice: random.Random, seconds: float, namespace: str, pace: float) -> Iterator[Step]:
    now, number = 0.0, 0
    while now < seconds:
        source = dice.choices(tuple(SOURCES), weights=[each for each, _ in SOURCES.values()])[0]
        cpu = dice.choice(CPUS)
        draw = _Draw(f"g{number}-c{cpu}", dice.choice(SIZES), cpu, dice, namespace)
        made = SOURCES[source][1](draw)
        yield Step(now, "create", made)
        end = now + dice.uniform(*LIFE_SECONDS)
        if dice.random() < LOSES_A_MEMBER and made[0].members:
            at = dice.uniform(now, end)
            member = dice.choice(made[0].members)["metadata"]["name"]
            if at < seconds:
                yield Step(at, "replace", made, member)
        if end < seconds:
            yield Step(end, "delete", made)
        now += sum(each.pods for each in made) / pace
        number += 1


def _changes(dice: random.Random, seconds: float) -> Iterator[Step]:
    now = dice.uniform(0, CORDON_SECONDS)
    while now < seconds:
        node = f"node-{dice.randrange(NODES)}"
        yield Step(now, "cordon", name=node)
        yield Step(min(seconds, now + dice.uniform(2, 2 * CORDON_SECONDS)), "uncordon", name=node)
        queue = dice.choice(QUEUES)
        yield Step(now, "resize", name=queue, amount=QUEUE_CPU * dice.choice((2, 3, 4, 5)) // 4)
        now += dice.uniform(0, 2 * CORDON_SECONDS)


def _failures(dice: random.Random, seconds: float) -> Iterator[Step]:
    """Yield nodes that fail, are deleted, and come back: one after the other."""
    now = dice.uniform(*FAILURE_SECONDS)
    while now < seconds:
        node = f"node-{dice.randrange(NODES)}"
        yield Step(now, "fail", name=node)
        now = min(seconds, now + dice.uniform(*NOT_READY_SECONDS))
        yield Step(now, "remove", name=node)
        now = min(seconds, now + dice.uniform(*GONE_SECONDS))
        yield Step(now, "return", name=node)
        now += dice.uniform(*FAILURE_SECONDS)
