"""What the status of a Queue should say now. Pure: figures in, dicts out."""

from gang_scheduler.api.conditions import Finding
from gang_scheduler.model.queues import QueueFigures, StopPolicy
from gang_scheduler.report.cause_texts import text_of

ACTIVE = "Active"
READY = "Ready"
STOPPED = "Stopped"
_STOPS = {
    StopPolicy.HOLD: "stopPolicy Hold: no gang is admitted",
    StopPolicy.HOLD_AND_DRAIN: "stopPolicy HoldAndDrain: no gang is admitted",
}


def activity(figures: QueueFigures) -> Finding:
    """Return whether gangs of the queue can be admitted, and why not."""
    problem, stop = figures.problem, _STOPS.get(figures.queue.stop)
    if problem is not None:
        words = text_of(problem.cause)
        return Finding(ACTIVE, status=False, reason=problem.reason.value, message=words)
    if stop is not None:
        return Finding(ACTIVE, status=False, reason=STOPPED, message=stop)
    return Finding(ACTIVE, status=True, reason=READY, message="gangs can be admitted")
