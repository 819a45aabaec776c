"""The table of kinds of workloads, in the order in which they count for a pod.

The gang of a pod, its role and rank, the watched objects and the chart's rights all follow from
it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import (
    APP_WRAPPERS,
    DEPLOYMENTS,
    GVR,
    JOB_SETS,
    JOBS,
    RAY_JOBS,
    TRAIN_JOBS,
)
from gang_scheduler.api.parsing import InvalidField, without_nulls
from gang_scheduler.decode.fields import group_of
from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.gangs.pod_groups import GangObject
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model import refs
from gang_scheduler.model.refs import GangSource
from gang_scheduler.workloads import (
    apps,
    controllers,
    job_sets,
    jobs,
    kubeflow,
    kueue_pod_groups,
    leader_worker_sets,
    ray,
    spark,
    volcano,
    wrappers,
)
from gang_scheduler.workloads.controllers import NO_PHASE, Phase, Source, controller
from gang_scheduler.workloads.kind import ByMembers, WorkloadKind

# Workloads that can wait suspended and let another workload make their pods. Their owner starts
# and suspends that other workload, which is never managed itself. Owners are read only where the
# settings say that they are managed: otherwise everything there is to know is in the workloads
# that they own.

Body = Mapping[str, Any]


class Maker(NamedTuple):
    """A kind, and the kind of what it makes. `versions` are those that may be served, best first.

    `tells`: its own spec says what its members are; else only what it makes says so.
    """

    kind: str
    versions: tuple[GVR, ...]
    read: Callable[[Body], GangObject]
    makes: str
    tells: bool


MAKERS: Final = (
    Maker("TrainJob", (kinds.TRAIN_JOBS,), job_sets.read_train_job, makes="JobSet", tells=False),
    Maker("RayJob", kinds.RAY_JOBS, ray.read_ray_job, makes="RayCluster", tells=True),
)
MAKER_KINDS: Final = frozenset(each.kind for each in MAKERS)
TELL_NOTHING: Final = frozenset(each.kind for each in MAKERS if not each.tells)
"""The kinds of which only what they make says what the members are."""
_BY_MADE: Final = {(each.makes, each.kind): each for each in MAKERS}


def maker_of(kind: str, body: Body) -> tuple[str, Maker] | None:
    """Return the uid of what made an object of a kind, and its kind; None for any other object."""
    owner = controller(body)
    found = _BY_MADE.get((kind, str(owner.get("kind"))))
    if found is None or group_of(str(owner.get("apiVersion"))) != found.versions[0].group:
        return None
    return str(owner.get("uid", "")), found


KINDS: Final[tuple[WorkloadKind, ...]] = (
    volcano.KIND,
    job_sets.KIND,
    job_sets.TRAIN_JOB_KIND,
    leader_worker_sets.KIND,
    *kubeflow.KINDS,
    ray.KIND,
    kueue_pod_groups.KIND,
    spark.KIND,
    apps.KIND,
    jobs.KIND,
)

BY_DEFAULT: Final = tuple(each.name for each in KINDS if each.pods.by_default)
"""The kinds of which pods are a gang without asking for it, unless the settings say otherwise."""

SOURCES: Final[tuple[GangSource, ...]] = (
    refs.NATIVE,
    refs.POD_GROUP,
    refs.ANNOTATION,
    *(each.pods.source for each in KINDS),
    ray.RAY_JOB_SOURCE,
    refs.SINGLE,
)
"""All ways in which gangs are named, in the order in which they count."""
BY_NAME: Final[Mapping[str, GangSource]] = {each.name: each for each in SOURCES}

BY_MEMBERS: Final[Mapping[str, ByMembers]] = {
    refs.ANNOTATION.name: lambda key, members, _: specs.by_members(key, members),
    refs.SINGLE.name: lambda key, members, _: specs.by_itself(key, members),
    **{each.name: each.by_members for each in KINDS if each.by_members is not None},
}
"""Where members describe the gang, and how."""

WITH_ROLES: Final = frozenset(each.name for each in KINDS if each.has_roles)
"""The kinds of which the object must be known where a PodGroup was made for it."""


def membership(by_default: Collection[str] = BY_DEFAULT) -> Membership:
    """Return what tells the gangs of pods, where pods of these kinds are gangs without asking."""
    return Membership((each.pods for each in KINDS), by_default)


MEMBERSHIP: Final = membership()


# The table of what controllers create: the versions of each kind, its pods, and when it has ended.


class Row(NamedTuple):
    """A kind. `versions` are those that its controller serves, best first.

    `make` yields pods and objects on the way to pods, raising InvalidField for a workload that is
    refused. `phase` is where in the status stands in a word what the workload does, with the words
    after which nothing more comes of it; conditions count for all kinds.
    """

    kind: str
    versions: tuple[GVR, ...]
    make: Callable[[Source], Iterator[Body]]
    phase: Phase = NO_PHASE

    @property
    def key(self) -> tuple[str, str]:
        """Kind and API group."""
        return self.kind, self.versions[0].group


def _of(
    kind: str,
    name: str,
    *versions: str,
    make: Callable[[Source], Iterator[Body]],
    phase: Phase = NO_PHASE,
) -> Row:
    """Return a row of a kind that is named as its CRD: PLURAL.GROUP."""
    plural, _, group = name.partition(".")
    return Row(kind, tuple(GVR(group, version, plural) for version in versions), make, phase)


def _until(path: str, *ended: str) -> Phase:
    return Phase(tuple(path.split(".")), frozenset(ended))


ROWS: Final = (
    Row("Job", (JOBS,), jobs.job),
    _of("CronJob", "cronjobs.batch", "v1", make=jobs.cron_job),
    Row("JobSet", (JOB_SETS,), job_sets.job_set),
    Row("TrainJob", (TRAIN_JOBS,), job_sets.train_job),
    _of("StatefulSet", "statefulsets.apps", "v1", make=apps.stateful_set),
    _of("ReplicaSet", "replicasets.apps", "v1", make=apps.replica_set),
    Row("Deployment", (DEPLOYMENTS,), apps.deployment),
    _of("PyTorchJob", "pytorchjobs.kubeflow.org", "v1", make=kubeflow.job),
    _of("TFJob", "tfjobs.kubeflow.org", "v1", make=kubeflow.job),
    _of("XGBoostJob", "xgboostjobs.kubeflow.org", "v1", make=kubeflow.job),
    _of("PaddleJob", "paddlejobs.kubeflow.org", "v1", make=kubeflow.job),
    _of("JAXJob", "jaxjobs.kubeflow.org", "v1", make=kubeflow.job),
    _of("MPIJob", "mpijobs.kubeflow.org", "v2beta1", "v1", make=kubeflow.mpi_job),
    _of("RayCluster", "rayclusters.ray.io", "v1", "v1alpha1", make=ray.ray_cluster),
    Row(
        *("RayJob", RAY_JOBS, ray.ray_job),
        phase=_until("jobDeploymentStatus", "Complete", "Failed"),
    ),
    _of("RayService", "rayservices.ray.io", "v1", "v1alpha1", make=ray.ray_service),
    _of(
        *("LeaderWorkerSet", "leaderworkersets.leaderworkerset.x-k8s.io", "v1"),
        make=leader_worker_sets.leader_worker_set,
    ),
    _of(
        *("Job", "jobs.batch.volcano.sh", "v1alpha1"),
        make=volcano.job,
        phase=_until(
            *("state.phase", "Completing", "Completed", "Aborting", "Aborted"),
            *("Terminating", "Terminated", "Failed"),
        ),
    ),
    _of(
        *("SparkApplication", "sparkapplications.sparkoperator.k8s.io", "v1beta2"),
        make=spark.spark_application,
        phase=_until("applicationState.state", "SUCCEEDING", "COMPLETED", "FAILING", "FAILED"),
    ),
    Row(
        *("AppWrapper", (APP_WRAPPERS,), wrappers.app_wrapper),
        phase=_until("phase", "Suspending", "Resetting", "Terminating", "Succeeded", "Failed"),
    ),
)
_BY_KEY: Final = {each.key: each for each in ROWS}


def pods_of(body: Body, most: int) -> Iterator[Body]:
    """Yield the pods of a workload that is started now, as if there were none of it yet.

    Raises InvalidField for a workload that is refused, or makes more than `most` pods.
    """
    left = most
    for each in _made_by(body):
        left -= 1  # A Job without pods counts, too: a JobSet can have any number of them.
        _check_left(left, most)
        if each["kind"] == "Pod":
            yield each
            continue
        for pod in pods_of(each, most):
            left -= 1
            _check_left(left, most)
            yield pod


def _check_left(left: int, most: int) -> None:
    if left < 0:
        raise too_many(most)


def too_many(most: int) -> InvalidField:
    """Return what is wrong with a workload that makes more members than may wait suspended."""
    return InvalidField("spec", None, f"must make at most {most} pods and Jobs while suspended")


def _made_by(body: Body) -> Iterator[Body]:
    row = _BY_KEY.get((body["kind"], group_of(body["apiVersion"])))
    return iter(row.make(Source(body)) if row is not None else ())


def has_ended(body: Body) -> bool:
    """Return whether the status of a workload says in a word that nothing more comes of it."""
    row = _BY_KEY.get((body["kind"], group_of(body["apiVersion"])))
    return row is not None and row.phase.has_ended(body)


def made_of(source: Source) -> list[Body]:
    """Return what the controller of a workload would still create; nothing for other kinds.

    Raises InvalidField, also for a workload that does not start.
    """
    row = _BY_KEY.get((source.body["kind"], group_of(source.body["apiVersion"])))
    if row is None:
        return []
    given = without_nulls(source.body)
    plain = Source(
        given, source.present, source.from_cluster, source.uid, source.notes, source.unknown
    )
    made = list(row.make(plain))
    return made if controllers.is_started(plain, row.phase) else []
