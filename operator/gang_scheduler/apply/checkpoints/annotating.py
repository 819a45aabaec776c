"""Requests to save work, as they stand on the pods that are to be evicted.

As annotations, which the pods see; over HTTP as a condition of the pod that is asked, which takes
no right to patch pods. So a scheduler that is started anew finds them, and asks by the same ids.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.conditions import CHECKPOINT_REQUESTED, rfc3339
from gang_scheduler.apply.checkpoints.asked import AskedGang
from gang_scheduler.apply.eviction.preemption_run import PreemptionRun, Step, StepWriter
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Api, Body
from gang_scheduler.model.checkpoints import CheckpointMode, Outcome
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import PodRef
from gang_scheduler.state.checkpoints.records import CheckpointRecords

REMOVED: Final[Mapping[str, None]] = {
    annotations.CHECKPOINT_REQUESTED_AT: None,
    annotations.CHECKPOINT_REQUEST_ID: None,
}
WITHDRAWN: Final[Body] = {"type": CHECKPOINT_REQUESTED, "status": "False", "reason": "Withdrawn"}


class Annotating:
    """Writes the requests, with the writer of the steps of preemptions, and takes them back."""

    def __init__(self, api: Api, records: CheckpointRecords, writer: StepWriter) -> None:
        self._api = api
        self._records = records
        self._writer = writer

    async def ask(self, current: PreemptionRun, gangs: Iterable[AskedGang]) -> None:
        """Write the requests to gangs, all at once. A gang that cannot be asked has failed."""
        gangs = tuple(gangs)
        refused: dict[str, str] = {}
        steps = [step for gang in gangs for step in self._requests(current, gang, refused)]
        await self._writer.write_all(current, steps)
        for gang in gangs:
            answers = [refused.get(pod.uid, "") for pod in gang.pods]
            if answers and all(answers):
                self._records.gave_up(gang.key, gang.request.id, Outcome.FAILED, answers[0])

    async def note(self, current: PreemptionRun, gangs: Iterable[AskedGang]) -> None:
        """Write on their first members that gangs are asked over HTTP, all at once."""
        steps = [step for gang in gangs for step in self._notes(current, gang)]
        await self._writer.write_all(current, steps)

    def withdrawals(self, pods: Iterable[Pod]) -> Iterator[Step]:
        """Yield the steps that take requests back from pods, whatever stands there."""
        of_annotations = functools.partial(self._api.annotate_pod, annotations=REMOVED)
        noted = functools.partial(self._api.patch_pod_condition, condition=WITHDRAWN)
        for pod in pods:
            by_http = self._records.policy_of(pod.gang).mode is CheckpointMode.HTTP
            yield Step("withdraw", pod, noted if by_http else of_annotations, optional=True)

    def _notes(self, current: PreemptionRun, gang: AskedGang) -> Iterator[Step]:
        """Yield the step that notes a request, unless it is noted already."""
        first = gang.pods[0]
        if self._records.standing_on(first) == gang.request:
            current.asked.add(first.uid)
            return
        condition = {
            "type": CHECKPOINT_REQUESTED,
            "status": "True",
            "reason": "Preempted",
            "message": gang.request.id,
            "lastTransitionTime": rfc3339(gang.request.at),
        }
        request = functools.partial(self._api.patch_pod_condition, condition=condition)
        yield Step("ask", first, request, begun=current.asked, optional=True)

    def _requests(
        self, current: PreemptionRun, gang: AskedGang, refused: dict[str, str]
    ) -> Iterator[Step]:
        """Yield the steps for pods that do not have the request yet; `refused` gets answers."""
        written = {
            annotations.CHECKPOINT_REQUESTED_AT: rfc3339(gang.request.at),
            annotations.CHECKPOINT_REQUEST_ID: gang.request.id,
            # What was reported before is known, and is no answer.
            annotations.CHECKPOINT_DONE_AT: None,
        }

        async def annotate(pod: PodRef) -> None:
            try:
                await self._api.annotate_pod(pod, written)
            except ApiError as error:
                refused[pod.uid] = str(error)
                raise
            refused.pop(pod.uid, None)

        for pod in gang.pods:
            if self._records.standing_on(pod) == gang.request:
                current.asked.add(pod.uid)
            else:
                yield Step("ask", pod, annotate, begun=current.asked, optional=True)
