"""A job, the objects that it would become in a cluster, and a prediction of its start."""

from collections.abc import Sequence
from dataclasses import dataclass

from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit import cluster_facts, creation, objects, verdict
from gang_scheduler.submit.facts import UNKNOWN
from gang_scheduler.submit.members import Body
from gang_scheduler.submit.objects import Planned
from gang_scheduler.submit.training_job import TrainingJob
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
    facts = await cluster_facts.read(server, placed)
    plan = objects.planned(placed, facts)
    await creation.dry_run(server.connection, plan)
    prediction = None
    if predict:
        prediction = await verdict.of_server(server, plan, placed.namespace)
    return Submission(placed, plan, facts.notes, prediction)


async def created(server: Server, submission: Submission) -> Body:
    """Create the objects; return the object that owns the others. Raises ApiError."""
    return await creation.create(server.connection, submission.plan)
