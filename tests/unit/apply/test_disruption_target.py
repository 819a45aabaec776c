"""The mark of a victim names the preemptor, as far as the victim's namespace may know it."""

from dataclasses import replace

import pytest

from gang_scheduler.apply import disruption_target
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.model.plan import Bind, Preemption
from support import builders

HIGH = replace(builders.gang("high"), key=builders.gang_key("high", "ml"))
FIRST = replace(HIGH.pending[0], namespace="ml")
PREEMPTION = Preemption((HIGH,), (Bind(FIRST, "n1"),))
BEGINNING = "py-gang-scheduler: preempting to accommodate higher priority pods, "


@pytest.mark.parametrize(
    ("namespace", "hides", "expected"),
    [
        ("ml", False, "preemptor: ml/high, triggerpod: ml/high-0"),
        ("web", False, "preemptor: ml/high, triggerpod: ml/high-0"),
        ("ml", True, "preemptor: ml/high, triggerpod: ml/high-0"),
        ("web", True, "preemptor: uid-high, triggerpod: uid-high-0"),
    ],
)
def test_the_message_names_the_preemptor(namespace: str, *, hides: bool, expected: str) -> None:
    made = disruption_target.mark(PREEMPTION, namespace, Naming(hides), now=0)

    assert BEGINNING + expected == made["message"]


def test_a_mark_and_its_end_are_two_states_of_one_condition() -> None:
    mark, end = (
        disruption_target.mark(PREEMPTION, "ml", Naming(), now=0),
        disruption_target.unmark(now=60),
    )

    assert mark["type"] == end["type"] == "DisruptionTarget"
    assert ("True", "False") == (mark["status"], end["status"])
    assert mark["lastTransitionTime"] < end["lastTransitionTime"]


def test_the_mark_of_members_of_a_gang_that_starts_again_names_their_own_gang() -> None:
    made = disruption_target.mark(
        Preemption((HIGH,), (), to_start_anew=True), "ml", Naming(), now=0
    )

    assert ("DegradedDomain", "py-gang-scheduler: gang ml/high starts again") == (
        made["reason"],
        made["message"],
    )


def test_the_mark_of_a_pod_that_is_removed_names_its_node() -> None:
    made = disruption_target.stuck("n1", now=0)

    assert ("True", "NodeFailed") == (made["status"], made["reason"])
    assert "node n1 has failed" in made["message"]
