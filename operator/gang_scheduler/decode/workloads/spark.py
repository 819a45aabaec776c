"""The executors of Spark. Those of an application are a gang if they ask for it.

The driver creates them when it runs, so it is no member. How many there are is said by the
SparkApplication, or by the executors themselves where `spark-submit` made the driver.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import SPARK_APPLICATIONS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import member_specs
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import rank
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.workloads.spark import SparkApplication, SparkApplicationSpec

SOURCE: Final = GangSource("SparkApplication")
APP: Final = "sparkoperator.k8s.io/app-name"
SELECTOR: Final = "spark-app-selector"
ROLE: Final = "spark-role"
EXECUTOR: Final = "executor"
EXECUTOR_ID: Final = "spark-exec-id"
INDEXES: Final = (EXECUTOR_ID,)
INSTANCES: Final = "spark.executor.instances"
LEAST: Final = "spark.dynamicAllocation.minExecutors"
DYNAMIC: Final = "spark.dynamicAllocation.enabled"
DEFAULT_EXECUTORS: Final = 2
"""As many executors are there that nothing says the number of."""


def name_of(source: pod_wire.Pod) -> str:
    """Return the SparkApplication of an executor, else the id that Spark gave it; "" for others."""
    labels = source.metadata.labels
    if labels.get(ROLE) != EXECUTOR:
        return ""
    return labels.get(APP) or labels.get(SELECTOR, "")


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: all members have the same."""
    return EXECUTOR if metadata.labels.get(ROLE) == EXECUTOR else ""


def by_members(key: GangKey, members: Iterable[Pod], described: GangSpec | None) -> GangSpec | None:
    """Return the gang of executors: as many as they say, else as their SparkApplication does."""

    def least(pod: Pod, _: tuple[Role, ...]) -> int:
        said = fields.whole_number(pod.annotations, annotations.GANG_MIN_AVAILABLE, None)
        if said is not None:
            return said
        if described is None:
            where = fields.field(annotations.GANG_MIN_AVAILABLE)
            raise InvalidField(where, None, "is required where no SparkApplication says it")
        return described.min_member

    found = member_specs.by_the_oldest(key, members, least)
    if found is None or described is None:
        return found
    return replace(found, queue_request=described.queue_request)


def read(body: Body) -> GangObject:
    """Return a SparkApplication. Raises InvalidField for what is none."""
    source = fields.read(body, SparkApplication)
    metadata, executor = source.metadata, source.spec.executor
    if not annotations.ask_for_gang(executor.labels, executor.annotations):
        return GangObject(metadata.uid)
    spec = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        min_member=max(1, _least(source.spec)),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )
    return GangObject(metadata.uid, (spec,))


def _least(spec: SparkApplicationSpec) -> int:
    """Return how many executors are needed at first."""
    dynamic, conf = spec.dynamic_allocation, spec.spark_conf
    if dynamic.enabled or conf.get(DYNAMIC) == "true":
        least = dynamic.min_executors
        return _number(conf, LEAST, 0) if least is None else least
    instances = spec.executor.instances
    return _number(conf, INSTANCES, DEFAULT_EXECUTORS) if instances is None else instances


def _number(conf: dict[str, str], key: str, default: int) -> int:
    text = conf.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else default


KIND: Final = WorkloadKind(
    PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({ROLE}),
        role_of=role_of,
        rank_of=lambda metadata: rank.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
    ),
    ObjectsOfKind((SPARK_APPLICATIONS,), read, Unreadable.KEEP),
    by_members,
)
