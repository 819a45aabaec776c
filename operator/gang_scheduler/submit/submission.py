"""A job, its objects in a cluster, their creation, and a prediction of its start."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import JOBS
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit import list_usable_names, objects, verdict
from gang_scheduler.submit.members import Body
from gang_scheduler.submit.objects import Planned
from gang_scheduler.submit.refusals import Refused
from gang_scheduler.submit.training_job import TrainingJob
from gang_scheduler.submit.usable_names import UNKNOWN
from gang_scheduler.submit.verdict import Prediction


@dataclass(frozen=True, slots=True)
class Submission:
    """A job in its namespace, its objects in the order of their creation, and a prediction.

    `prediction` is None if it was not requested.
    """

    job: TrainingJob
    plan: Sequence[Planned]
    notes: tuple[str, ...] = ()
    prediction: Prediction | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The objects, as kubectl names them."""
        return tuple(f"{each.gvr.name}/{each.name}" for each in self.plan)


def without_cluster(job: TrainingJob) -> Submission:
    """Return the objects of a job that can be made without a cluster.

    Raises Refused.
    """
    placed = job if job.namespace else job.model_copy(update={"namespace": "default"})
    return Submission(placed, objects.planned(placed, UNKNOWN))


async def prepared(server: Server, job: TrainingJob, *, predict: bool = True) -> Submission:
    """Return the planned objects, which the API server has accepted in a dry run.

    Raises Refused for fields that the cluster cannot honour, and ApiError.
    """
    placed = job.model_copy(update={"namespace": job.namespace or server.namespace})
    usable = await list_usable_names.read(server, placed)
    plan = objects.planned(placed, usable)
    await dry_run(server.connection, plan)
    prediction = None
    if predict:
        prediction = await verdict.of_server(server, plan, placed.namespace)
    return Submission(placed, plan, usable.notes, prediction)


async def created(server: Server, submission: Submission) -> Body:
    """Create the objects; return the object that owns the others. Raises ApiError."""
    return await create_objects(server.connection, submission.plan)


# Creates the objects of a job; none is left over if the client is killed meanwhile.
#
# A Job is created without members and with a deadline. The API server removes it, and all that it
# owns, unless the last write adds the members and removes the deadline. A workload of a kind
# without a deadline is owned by an empty Job that has one, until the last write removes that owner.


SETUP_SECONDS: Final = 120
"""A job that was created only in part is removed after this time."""
FIELD_MANAGER: Final = "py-gang-scheduler-submit"
WRITE_SECONDS: Final = 15.0
"""The time limit of one write. All writes together take less than SETUP_SECONDS."""


class CreatedInPart(Refused):
    """The deadline or another client has removed a job before all of it was created."""


async def dry_run(connection: Connection, plan: Sequence[Planned]) -> list[Body]:
    """Return the objects as the API server would store them. Raises ApiError for a refusal."""
    return [await _create(connection, each, each.body, dry=True) for each in plan]


async def create_objects(
    connection: Connection, plan: Sequence[Planned], *, setup_seconds: int = SETUP_SECONDS
) -> Body:
    """Create the objects of a job; return the first, which owns the others. Raises ApiError.

    All are sent as a dry run before. If one is refused nevertheless, the first is deleted.
    """
    await dry_run(connection, plan)
    first, *owned = plan
    if not owned:
        return await _create(connection, first, first.body)
    if first.gvr == JOBS:
        return await _create_job(connection, first, owned, setup_seconds)
    return await _create_by_anchor(connection, first, owned, setup_seconds)


async def _create_job(
    connection: Connection, job: Planned, owned: Sequence[Planned], seconds: int
) -> Body:
    spec = job.body["spec"]
    prepared = copy.deepcopy(job.body)
    prepared["spec"] |= {**_removed_after(seconds), "parallelism": 0, "suspend": False}
    made = await _create(connection, job, prepared)
    api, where = KubernetesApi(connection), (job.gvr, made["metadata"]["namespace"], job.name)
    uid = str(made["metadata"]["uid"])
    try:
        await _create_owned(connection, owned, made)
        start = {
            "activeDeadlineSeconds": None,
            "ttlSecondsAfterFinished": None,
            "parallelism": spec["parallelism"],
            "suspend": spec.get("suspend", False),
        }
        started = await api.patch(*where, {"metadata": {"uid": uid}, "spec": start})
    except ApiError:
        await _give_up(api, *where, uid)
        raise
    if _has_failed(started):
        await _give_up(api, *where, uid)
        raise CreatedInPart("", None, f"{job.name}: creating it took more than {seconds} s")
    return dict(started)


async def _create_by_anchor(
    connection: Connection, job: Planned, owned: Sequence[Planned], seconds: int
) -> Body:
    anchor = await _create(connection, _anchor(job, seconds), _anchor(job, seconds).body)
    api = KubernetesApi(connection)
    namespace = str(anchor["metadata"]["namespace"])
    uid = str(anchor["metadata"]["uid"])
    prepared = copy.deepcopy(job.body)
    prepared["metadata"]["ownerReferences"] = [_reference(anchor)]
    prepared["spec"]["suspend"] = True
    try:
        made = await _create(connection, job, prepared)
        await _create_owned(connection, owned, made)
        release = {
            "metadata": {"uid": made["metadata"]["uid"], "ownerReferences": None},
            "spec": {"suspend": job.body["spec"].get("suspend", False)},
        }
        started = await api.patch(job.gvr, namespace, job.name, release)
    finally:
        # If the last write is missing, the job is deleted with its owner.
        await _give_up(api, JOBS, namespace, str(anchor["metadata"]["name"]), uid)
    return dict(started)


def _anchor(job: Planned, seconds: int) -> Planned:
    """Return an empty Job that owns another object, and is removed with it after a time."""
    name = f"{job.name}-setup"
    pod = {"restartPolicy": "Never", "containers": [{"name": "none", "image": "none"}]}
    body: Body = {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": job.body["metadata"]["namespace"],
            "labels": {annotations.SUBMITTED: "true"},
        },
        "spec": {
            **_removed_after(seconds),
            "parallelism": 0,
            "completions": 1,
            "template": {"spec": pod},
        },
    }
    return Planned(JOBS, body, "")


def _removed_after(seconds: int) -> Body:
    return {"activeDeadlineSeconds": seconds, "ttlSecondsAfterFinished": 0}


async def _create_owned(connection: Connection, owned: Sequence[Planned], owner: Body) -> None:
    for each in owned:
        body = copy.deepcopy(each.body)
        body["metadata"]["ownerReferences"] = [_reference(owner)]
        await _create(connection, each, body)


def _reference(owner: Body) -> Body:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }


async def _create(
    connection: Connection, planned: Planned, body: Body, *, dry: bool = False
) -> Body:
    query = f"?fieldManager={FIELD_MANAGER}&fieldValidation=Strict" + ("&dryRun=All" if dry else "")
    path = planned.gvr.path(body["metadata"]["namespace"]) + query
    answer = await connection.request(
        "POST", path, msgspec.json.encode(body), timeout_seconds=WRITE_SECONDS
    )
    made: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
    return {"apiVersion": planned.gvr.api_version, "kind": planned.kind, **made}


async def _give_up(api: KubernetesApi, *where: Any) -> None:  # noqa: ANN401 - of `delete`.
    try:
        await api.delete(*where)
    except ApiError as error:
        # An object that stays now ends by its own deadline.
        if error.kind is Kind.REFUSED:
            raise


def _has_failed(job: Any) -> bool:  # noqa: ANN401 - any JSON.
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Failed" and each["status"] == "True" for each in conditions)
