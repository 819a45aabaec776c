"""A gang that saves its work when it is asked to by annotations, in the way of another gang."""

import asyncio
from collections.abc import Mapping
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, POD_GROUPS, PODS
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import Save
from gang_scheduler.model.wording import rfc3339
from integration.support.victims_and_preemptor import MEMBERS, NAMESPACE, VICTIMS
from support.builders import gang_key
from support.parts import Modes
from support.scheduler_process import NOTHING, FakeWorkloads, SchedulerProcess, began_at

BY_ANNOTATION = {annotations.CHECKPOINT: "Annotation"}
ANNOTATES = Modes(annotates=True)
LOW = gang_key("low")
TIMEOUT = 30.0
STAGES = ("nominate", "annotate_pod", "patch_pod_condition", "delete_pod", "bind")


def workloads(
    says: Mapping[str, str] = BY_ANNOTATION, more: Mapping[str, str] = NOTHING
) -> FakeWorkloads:
    """Return two full nodes, the cheaper gang on n1, and a gang that needs half of it."""
    made = FakeWorkloads("n1", "n2")
    made.gang("low", VICTIMS, priority=1, node="n1", says={**says, **more})
    made.gang("mid", VICTIMS, priority=5, node="n2", says=says)
    made.gang("high", MEMBERS, priority=10)
    return made


def process_of(made: FakeWorkloads, **how: Any) -> SchedulerProcess:
    """Return a process that may ask by annotations."""
    return SchedulerProcess(made, **{"modes": ANNOTATES, **how})


def requests(made: FakeWorkloads) -> dict[str, str]:
    """Return the ids of the requests that stand on pods, by the name of the pod."""
    found = ((pod.name, pod.checkpoint) for pod in made.pods().values())
    return {name: said.request.id for name, said in found if said is not None and said.request}


def answer(made: FakeWorkloads, name: str = "low-0", gvr: GVR = PODS, **more: str) -> None:
    """Let a gang say on an object that it has saved its work, as it was asked to."""
    (request_id,) = set(requests(made).values())
    now = rfc3339(int(began_at() + asyncio.get_running_loop().time()))
    said = {
        annotations.CHECKPOINT_DONE_AT: now,
        annotations.CHECKPOINT_REQUEST_ID: request_id,
        annotations.CHECKPOINT_STEP: "7",
        annotations.CHECKPOINT_PATH: "s3://bucket/7",
    }
    with made.cluster.changing(gvr, NAMESPACE, name) as found:
        found["metadata"]["annotations"] = {
            **(found["metadata"].get("annotations") or {}),
            **said,
            **more,
        }


def answer_on_pod_group(made: FakeWorkloads) -> None:
    """Let the gang say it on its PodGroup."""
    answer(made, "low", POD_GROUPS)


def outcome(process: SchedulerProcess) -> CheckpointOutcome | None:
    """Return what came of the last request to the victims."""
    requested = process.cache.checkpoints.of(LOW).requested
    return requested.outcome if requested is not None else None


def last_save(process: SchedulerProcess) -> Save | None:
    """Return what the victims saved last."""
    return process.cache.checkpoints.of(LOW).last


def counts(process: SchedulerProcess) -> list[str]:
    """Return the methods of the writes so far, each once, in their order."""
    return list(dict.fromkeys(method for method, _ in process.writes()))


def nothing_is_left(made: FakeWorkloads) -> bool:
    """Return whether no pod is asked, marked or nominated."""
    return (requests(made), made.marked(), made.nominated()) == ({}, [], {})
