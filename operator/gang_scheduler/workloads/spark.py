"""SparkApplications: their executors are a gang if they opt in.

The driver creates the executors when it runs, so it is no member. Their number is in the
SparkApplication, or in the executors themselves if `spark-submit` created the driver.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple

from msgspec import field

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods import membership
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.model import wording
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Count, Keys, Labelled, Metadata, Wire
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.workloads import controllers
from gang_scheduler.workloads.controllers import Phase, Source, has_ended, label, part
from gang_scheduler.workloads.kind import Body, Kind, served

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
"""The number of executors if none is set."""


class Executor(Labelled, frozen=True):
    """`spec.executor`: all executors have these labels and annotations."""

    instances: Count | None = None


class DynamicAllocation(Wire, frozen=True):
    """`spec.dynamicAllocation`."""

    enabled: bool = False
    min_executors: Count | None = None


class SparkApplicationSpec(Wire, frozen=True):
    """`spec` of a SparkApplication."""

    executor: Executor = Executor()
    dynamic_allocation: DynamicAllocation = DynamicAllocation()
    spark_conf: Annotated[dict[str, str], Keys({INSTANCES, LEAST, DYNAMIC})] = field(
        default_factory=dict
    )


class SparkApplication(Wire, frozen=True):
    """A SparkApplication."""

    metadata: Metadata
    spec: SparkApplicationSpec = SparkApplicationSpec()


def name_of(source: pod_wire.Pod) -> str:
    """Return the SparkApplication of an executor, else its Spark id; "" for other pods."""
    labels = source.metadata.labels
    if labels.get(ROLE) != EXECUTOR:
        return ""
    return labels.get(APP) or labels.get(SELECTOR, "")


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: all members have the role executor."""
    return EXECUTOR if metadata.labels.get(ROLE) == EXECUTOR else ""


def by_members(key: GangKey, members: Iterable[Pod], described: GangSpec | None) -> GangSpec | None:
    """Return the gang of executors; its size comes from them, else from their SparkApplication."""

    def least(pod: Pod, _: tuple[Role, ...]) -> int:
        said = fields.whole_number(pod.annotations, annotations.GANG_MIN_AVAILABLE, None)
        if said is not None:
            return said
        if described is None:
            where = wording.field(annotations.GANG_MIN_AVAILABLE)
            raise InvalidField(where, None, "is required where no SparkApplication says it")
        return described.min_member

    found = specs.by_the_oldest(key, members, least)
    if found is None or described is None:
        return found
    return replace(found, queue_request=described.queue_request)


def read(body: Body) -> GangObject:
    """Return a SparkApplication. Raises InvalidField if it cannot be read."""
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
        return _number(conf.get(LEAST, ""), 0) if least is None else least
    return _instances(spec, DEFAULT_EXECUTORS)


def _instances(spec: SparkApplicationSpec, default: int) -> int:
    """Return how many executors an application requests."""
    instances = spec.executor.instances
    return _number(spec.spark_conf.get(INSTANCES, ""), default) if instances is None else instances


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() else default


# The driver of a SparkApplication, and its executors. The driver creates the executors when it
# runs; `simulate` creates them together with the driver.

DRIVER: Final = "driver"
DEFAULT_MEMORY: Final = "1g"
LEAST_OVERHEAD_MIB: Final = 384
OVERHEAD: Final = 0.1
OVERHEAD_OUTSIDE_OF_JAVA: Final = 0.4
OUTSIDE_OF_JAVA: Final = frozenset({"Python", "R"})
MEMORY: Final = re.compile(r"([0-9]+)(?:([kmgtp])b?|b)?", re.ASCII | re.IGNORECASE)
MIB_OF: Final = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}


class _GPU(Wire, frozen=True):
    name: str = ""
    quantity: Count = 0


class _Pod(Executor, frozen=True):
    """`spec.driver` and `spec.executor`, as the operator reads them."""

    pod_name: str = ""
    cores: Count = 1
    core_request: str = ""
    core_limit: str = ""
    memory: str = ""
    memory_overhead: str = ""
    gpu: _GPU = _GPU()
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[dict[str, Any]] = field(default_factory=list)
    volume_mounts: list[dict[str, Any]] = field(default_factory=list)
    init_containers: list[dict[str, Any]] = field(default_factory=list)
    sidecars: list[dict[str, Any]] = field(default_factory=list)
    template: PodTemplate = PodTemplate()


class _Dynamic(DynamicAllocation, frozen=True):
    initial_executors: Count = 0


class _Spec(SparkApplicationSpec, frozen=True):
    type: str = ""
    driver: _Pod = _Pod()
    executor: _Pod = _Pod()
    dynamic_allocation: _Dynamic = _Dynamic()
    memory_overhead_factor: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    volumes: list[dict[str, Any]] = field(default_factory=list)


class _Application(SparkApplication, frozen=True):
    spec: _Spec = _Spec()


def spark_application(source: Source) -> Iterator[Body]:
    """Yield the driver, and the executors that it requests at first. Raises InvalidField."""
    spec = source.read(_Application).spec
    for role in (DRIVER, EXECUTOR):
        if role not in part(source.body, "spec"):
            raise InvalidField(f"spec.{role}", None, "is required")
    name = spec.driver.pod_name or spec.spark_conf.get("spark.kubernetes.driver.pod.name", "")
    name = name or f"{source.name}-driver"
    present = source.pod(name)
    if present is not None and (has_ended(present) or spec.dynamic_allocation.enabled):
        return  # It wants no more executors than there are.
    made = _pod(source, spec, spec.driver, DRIVER, name)
    if present is None:
        yield from _with_volumes(spec, DRIVER, made)
    owner = source.pod_as_owner(name, made["metadata"]["uid"])
    yield from _executors(source, spec, spec.executor, owner)


def _executors(source: Source, spec: _Spec, executor: _Pod, driver: Body) -> Iterator[Body]:
    labels = {APP: source.name, ROLE: EXECUTOR}
    present = source.present.controlled_by(driver)
    present = present or source.pods(labels)
    number = _at_first(spec) - sum(not has_ended(each) for each in present)
    last = max((_id(each) for each in present), default=0)
    prefix = spec.spark_conf.get("spark.kubernetes.executor.podNamePrefix")
    for i in range(
        last + 1, last + 1 + controllers.check_number(number, "spec.executor.instances")
    ):
        name = f"{prefix or f'{source.name}-00000'}-exec-{i}"
        made = _pod(source, spec, executor, EXECUTOR, name)
        own = {EXECUTOR_ID: str(i), "spark-exec-resourceprofile-id": "0"}
        metadata = {
            **controllers.merged(made["metadata"], own, {}),
            **controllers.owned(driver, name),
        }
        yield from _with_volumes(spec, EXECUTOR, {**made, "metadata": metadata}, str(i))


def _at_first(spec: _Spec) -> int:
    """Return how many executors the driver requests at first."""
    dynamic = spec.dynamic_allocation
    if dynamic.enabled:
        return max(dynamic.min_executors or 0, dynamic.initial_executors, _instances(spec, 0))
    return _instances(spec, DEFAULT_EXECUTORS)


def _id(pod: Body) -> int:
    return _number(label(pod, EXECUTOR_ID), 0)


def _with_volumes(spec: _Spec, role: str, pod: Body, id_: str = "") -> Iterator[Body]:
    """Yield the claims that Spark creates for a pod, and the pod with its volumes."""
    name, own = pod["metadata"]["name"], pod["spec"]
    for each in _claims(spec.spark_conf, role, name, id_):
        metadata = controllers.owned(pod, each["metadata"]["name"])
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **each, "metadata": metadata}
    volumes = _volumes(spec.spark_conf, role, name, id_)
    volumes += _local_directories(spec.spark_conf, [*own["volumes"], *volumes])
    yield {**pod, "spec": {**own, "volumes": [*own["volumes"], *volumes]}}


def _pod(source: Source, spec: _Spec, pod: _Pod, role: str, name: str) -> dict[str, Any]:
    controllers.check_template(pod.template, f"spec.{role}.template")
    labels = {
        **source.body["metadata"].get("labels", {}),
        **pod.labels,
        APP: source.name,
        "sparkoperator.k8s.io/launched-by-spark-operator": "true",
        "spark-app-name": source.name,
        ROLE: role,
        SELECTOR: "spark-00000",
    }
    given = source.body["spec"][role]
    made = controllers.pod(source.body, given.get("template", {}), name, labels, pod.annotations)
    return {**made, "spec": _pod_spec(source, spec, pod, role, made["spec"])}


def _pod_spec(source: Source, spec: _Spec, pod: _Pod, role: str, template: Body) -> Body:
    """Return the spec of a pod: its template with the fields that the operator and Spark set."""
    application = source.body["spec"]
    given = application[role]
    scheduler = application.get("batchScheduler") or given.get("schedulerName")
    mounted = {each.get("name") for each in pod.volume_mounts}
    volumes = (each for each in spec.volumes if each.get("name") in mounted)
    own = {
        "schedulerName": scheduler,
        "priorityClassName": given.get("priorityClassName"),
        "affinity": given.get("affinity"),
        "hostNetwork": given.get("hostNetwork"),
    }
    first, *others = template.get("containers") or [{"name": f"spark-kubernetes-{role}"}]
    return {
        **template,
        **{key: value for key, value in own.items() if value},
        "nodeSelector": {
            **template.get("nodeSelector", {}),
            **spec.node_selector,
            **pod.node_selector,
        },
        "tolerations": [*template.get("tolerations", ()), *pod.tolerations],
        "volumes": [*template.get("volumes", ()), *volumes],
        "initContainers": [*template.get("initContainers", ()), *pod.init_containers],
        "containers": [
            {**first, "resources": _resources(spec, pod, role)},
            *others,
            *pod.sidecars,
        ],
    }


def _resources(spec: _Spec, pod: _Pod, role: str) -> Body:
    cores = pod.core_request or str(pod.cores)
    memory = f"{_memory_mib(spec, pod, role)}Mi"
    limits = {"memory": memory}
    if pod.core_limit:
        limits["cpu"] = pod.core_limit
    if pod.gpu.name:
        limits[pod.gpu.name] = str(pod.gpu.quantity)
    return {"requests": {"cpu": cores, "memory": memory}, "limits": limits}


def _memory_mib(spec: _Spec, pod: _Pod, role: str) -> int:
    """Return the memory of a pod in MiB: the memory of its process, and the overhead."""
    where = f"spec.{role}.memory"
    memory = _mib(pod.memory or spec.spark_conf.get(f"spark.{role}.memory", DEFAULT_MEMORY), where)
    if pod.memory_overhead:
        return memory + _mib(pod.memory_overhead, f"{where}Overhead")
    outside = spec.type in OUTSIDE_OF_JAVA
    factor = OVERHEAD_OUTSIDE_OF_JAVA if outside else OVERHEAD
    if spec.memory_overhead_factor:
        factor = _factor(spec.memory_overhead_factor)
    return memory + max(int(memory * factor), LEAST_OVERHEAD_MIB)


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise InvalidField("spec.memoryOverheadFactor", text, "must be a number such as 0.1")
    return factor


def _mib(text: str, where: str) -> int:
    """Return an amount of memory as Java writes it: 512m, 1g; MiB without a unit."""
    found = MEMORY.fullmatch(text)
    if found is None:
        raise InvalidField(where, text, "must be an amount of memory such as 512m or 4g")
    if text[-1] in "bB" and not found[2]:
        return int(found[1]) // 1024**2
    return int(int(found[1]) * MIB_OF[(found[2] or "m").lower()])


# Volumes that Spark adds to its pods, from its own configuration or as local directories.
# spark.kubernetes.ROLE.volumes.TYPE.NAME.options.OPTION is an option of the volume NAME.

LOCAL: Final = "spark-local-dir-"
LOCAL_DIRS: Final = "spark.local.dir"
ON_DEMAND: Final = "OnDemand"
ID_OF_EXECUTOR: Final = "SPARK_EXECUTOR_ID"
CLAIM: Final = "persistentVolumeClaim"
REQUIRED_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "hostPath": ("path",),
    "emptyDir": (),
    "nfs": ("server", "path"),
    CLAIM: ("claimName",),
}
"""The types of volumes that Spark supports, and the required options of each."""
OTHER_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "hostPath": ("type",),
    "emptyDir": ("medium", "sizeLimit"),
}
"""Further options that are fields of a volume. Claims that Spark creates have other options."""
VOLUME_OPTION: Final = re.compile(
    r"spark\.kubernetes\.(?P<role>\w+)\.volumes\."
    r"(?P<type>[^.]+)\.(?P<name>[^.]+)\.(?P<part>[^.]+)\.(?P<option>.+)"
)


class _Volume(NamedTuple):
    name: str
    type: str
    options: dict[str, str]


def _volumes(conf: Mapping[str, str], role: str, pod: str, id_: str) -> list[Body]:
    """Return the volumes that properties define. Raises InvalidField that names the property."""
    return [
        {"name": each.name, each.type: _source(each, f"{pod}-pvc-{i}", id_)}
        for i, each in enumerate(_volumes_said(conf, role))
    ]


def _local_directories(conf: Mapping[str, str], present: Iterable[Body]) -> list[Body]:
    """Return the local directories that Spark adds to a pod; none if it has one already."""
    if any(str(each.get("name")).startswith(LOCAL) for each in present):
        return []
    number = len(conf.get(LOCAL_DIRS, "").split(","))
    return [{"name": f"{LOCAL}{i + 1}", "emptyDir": {}} for i in range(number)]


def _claims(conf: Mapping[str, str], role: str, pod: str, id_: str) -> Iterator[Body]:
    """Yield the name and the spec of each claim that Spark creates for a pod."""
    for i, each in enumerate(_volumes_said(conf, role)):
        size = each.options.get("sizeLimit")
        if each.type != CLAIM or size is None:
            continue
        resources = {"requests": {"storage": size}}
        spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": resources}
        if each.options.get("storageClass"):
            spec["storageClassName"] = each.options["storageClass"]
        name = _source(each, f"{pod}-pvc-{i}", id_)["claimName"]
        yield {"metadata": {"name": name}, "spec": spec}


def _source(volume: _Volume, claim: str, id_: str) -> dict[str, str]:
    known = (*REQUIRED_OPTIONS[volume.type], *OTHER_OPTIONS.get(volume.type, ()))
    given = {key: volume.options.get(key) for key in known}
    source = {key: value for key, value in given.items() if value}
    if volume.type == CLAIM:
        name = source["claimName"].replace(ON_DEMAND, claim)
        source["claimName"] = name.replace(ID_OF_EXECUTOR, id_) if id_ else name
    return source


def _volumes_said(conf: Mapping[str, str], role: str) -> list[_Volume]:
    """Return the volumes that properties define for a role, by their types and names."""
    found: dict[tuple[str, str], _Volume] = {}
    for key, value in sorted(conf.items()):
        match = VOLUME_OPTION.fullmatch(key)
        if match is None or match["role"] != role:
            continue
        kind, name = match["type"], match["name"]
        if kind not in REQUIRED_OPTIONS:
            known = ", ".join(REQUIRED_OPTIONS)
            raise InvalidField(f"spec.sparkConf[{key}]", kind, f"must name one of {known}")
        volume = found.setdefault((kind, name), _Volume(name, kind, {}))
        if match["part"] == "options":
            volume.options[match["option"]] = value
    for (kind, name), volume in found.items():
        for option in REQUIRED_OPTIONS[kind]:
            if not volume.options.get(option):
                lacks = f"spark.kubernetes.{role}.volumes.{kind}.{name}.options.{option}"
                raise InvalidField(f"spec.sparkConf[{lacks}]", None, "is required")
    return [*found.values()]


KIND: Final = Kind(
    name=SOURCE.name,
    versions=served("sparkapplications.sparkoperator.k8s.io", "v1beta2"),
    struct=SparkApplication,
    read=read,
    if_unreadable=Unreadable.KEEP,
    pods=PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({ROLE}),
        role_of=role_of,
        rank_of=lambda metadata: membership.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
    ),
    by_members=by_members,
    creates=spark_application,
    phase=Phase.until("applicationState.state", "SUCCEEDING", "COMPLETED", "FAILING", "FAILED"),
    words=(EXECUTOR, DRIVER),
    plain_keys=frozenset({SELECTOR, INSTANCES, LEAST, DYNAMIC}),
)
