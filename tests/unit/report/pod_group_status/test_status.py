"""What the status of a PodGroup says of checkpoints, and that it is read as it is written."""

import pytest

from gang_scheduler.api.pod_group import PodGroupStatus
from gang_scheduler.decode import checkpoints
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import NO_CHECKPOINTS, Checkpoints, Request, Requested, Save
from gang_scheduler.report.pod_group_status import checkpoint_status

AT = 1_767_268_800
SAVES = (Save(AT, 7, "c7", "r1"), Save(AT - 60, None, "c6"), Save(AT - 90, 0))


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert {} == checkpoint_status(NO_CHECKPOINTS, {"phase": "Running"})


def test_what_is_known_no_more_is_removed() -> None:
    written = {"checkpoint": {"requestId": "r1"}, "checkpoints": [{"doneAt": "x"}]}

    assert {"checkpoint": None, "checkpoints": None} == checkpoint_status(NO_CHECKPOINTS, written)


@pytest.mark.parametrize(
    "found",
    [
        Checkpoints(SAVES, Requested(Request("r1", AT - 5), CheckpointOutcome.SAVED), 2),
        Checkpoints(SAVES[1:], Requested(Request("r2", AT - 5), CheckpointOutcome.TIMED_OUT)),
        Checkpoints((), Requested(Request("r2", AT - 5), CheckpointOutcome.FAILED)),
        Checkpoints((), Requested(Request("r2", AT - 5))),
        Checkpoints(SAVES[2:]),
    ],
)
def test_a_status_is_read_as_it_is_written(found: Checkpoints) -> None:
    status = checkpoint_status(found, {})

    assert found == checkpoints.of_status(status)
    assert PodGroupStatus.model_validate(
        {
            "checkpoint": {k: v for k, v in status["checkpoint"].items() if v is not None},
            "checkpoints": status["checkpoints"],
        }
    )


def test_a_request_that_is_over_leaves_no_field_of_it() -> None:
    status = checkpoint_status(Checkpoints(SAVES), {})

    assert [None] * 3 == [status["checkpoint"][k] for k in ("requestId", "requestedAt", "outcome")]
