"""Submit and watch training jobs from Python: `Client`, `AsyncClient` and their parameters.

Open `asynchronous` first: the synchronous client has the same methods. Importing this package
imports neither the scheduler nor a client of Kubernetes; that happens when a client connects.
"""

from gang_scheduler.sdk.asynchronous import AsyncClient, AsyncRun
from gang_scheduler.sdk.client import Client, Run
from gang_scheduler.sdk.shown import Created, Explained, Waits
from gang_scheduler.submit.training_job import (
    Checkpoint,
    Elastic,
    JobType,
    PreemptionPolicy,
    Resources,
    Role,
    ScalePolicy,
    Script,
    TrainingJob,
    Volume,
)

__all__ = [
    "AsyncClient",
    "AsyncRun",
    "Checkpoint",
    "Client",
    "Created",
    "Elastic",
    "Explained",
    "JobType",
    "PreemptionPolicy",
    "Resources",
    "Role",
    "Run",
    "ScalePolicy",
    "Script",
    "TrainingJob",
    "Volume",
    "Waits",
]
