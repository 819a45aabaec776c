"""Which objects a selector chooses."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import CORE_EVENTS
from gang_scheduler.embedded import kinds, selection
from gang_scheduler.embedded.refusals import Refused

PODS = next(each for each in kinds.BUILT_IN if each.kind == "Pod")
EVENTS = next(each for each in kinds.BUILT_IN if each.gvr == CORE_EVENTS)


def chosen(query: dict[str, str], document: dict[str, Any], served: kinds.Served = PODS) -> bool:
    return selection.read(served, "", query).has(document)


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ("a=1", True),
        ("a==1", True),
        ("a=2", False),
        ("a!=2", True),
        ("c!=2", True),
        ("a", True),
        ("c", False),
        ("!a", False),
        ("!c", True),
        ("a in (1,2)", True),
        ("a in (2, 3),b", False),
        ("a notin (2,3)", True),
        ("c notin (2)", True),
        ("a in (1),b=x,!c", True),
        ("b=", False),
        ("example.com/d=", True),
        ("", True),
    ],
)
def test_labels(selector: str, fits: bool) -> None:  # noqa: FBT001 - a case.
    labels = {"a": "1", "b": "x", "example.com/d": ""}

    assert fits is chosen({"labelSelector": selector}, {"metadata": {"labels": labels}})


@pytest.mark.parametrize("selector", ["a in 1", "a=1 b=2", "(a)", "a in (1", "=", "a=1,,b"])
def test_a_selector_that_is_none_is_refused(selector: str) -> None:
    with pytest.raises(Refused, match="labelSelector") as refused:
        chosen({"labelSelector": selector}, {"metadata": {}})

    assert 400 == refused.value.status


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ("spec.nodeName=n1", True),
        ("spec.nodeName!=n1", False),
        ("spec.nodeName=n1,status.phase=Running", False),
        ("status.phase=", True),
        ("metadata.name==w", True),
    ],
)
def test_fields(selector: str, fits: bool) -> None:  # noqa: FBT001 - a case.
    pod = {"metadata": {"name": "w"}, "spec": {"nodeName": "n1"}}

    assert fits is chosen({"fieldSelector": selector}, pod)


def test_events_are_chosen_by_the_names_of_both_their_groups() -> None:
    event = {"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "w"}}

    for name in ("involvedObject", "regarding"):
        assert chosen({"fieldSelector": f"{name}.name=w"}, event, EVENTS)
        assert not chosen({"fieldSelector": f"{name}.name=x"}, event, EVENTS)


def test_a_field_that_a_kind_is_not_selected_by_is_refused() -> None:
    with pytest.raises(Refused, match="not supported") as refused:
        chosen({"fieldSelector": "spec.hostname=a"}, {"metadata": {}})

    assert 400 == refused.value.status
