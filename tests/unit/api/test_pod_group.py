"""Types of fields: those that take only some words of an enum."""

from typing import Any

import pytest

from gang_scheduler.api.crds import structural
from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.api.queue import Queue, QueuePreemption
from gang_scheduler.model.api_words import EvictionPolicy


def preempting(**fields: Any) -> Queue:
    spec = {"preemption": fields}
    return parse_spec(Queue, {"metadata": {"name": "a"}, "spec": spec})


def test_a_word_is_read_as_the_member_of_the_enum() -> None:
    found = preempting(withinQueue="LowerOrNewerEqualPriority", reclaim="Any").spec.preemption

    assert found is not None
    assert EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY is found.within_queue
    assert EvictionPolicy.ANY is found.reclaim


@pytest.mark.parametrize("word", ["Any", "LowerOrNewerEqualPriority", "None"])
def test_another_word_of_the_enum_is_refused_as_any_text(word: str) -> None:
    with pytest.raises(InvalidField) as caught:
        preempting(whileBorrowing={"policy": word})

    where = "spec.preemption.whileBorrowing.policy"
    assert f"{where} must be one of 'Never' or 'LowerPriority', not \"{word}\"" == str(caught.value)


def test_the_schema_has_these_words_alone() -> None:
    found = structural(QueuePreemption)["properties"]["withinQueue"]

    assert ["Never", "LowerPriority", "LowerOrNewerEqualPriority"] == found["enum"]
