"""What a pod is, and which ports exclude each other."""

from typing import Any

import pytest

from gang_scheduler.model.pods import HostPort
from support.builders import pod, pod_class

ANY = "0.0.0.0"  # noqa: S104 - Kubernetes' word for "all addresses".


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80, "TCP"), HostPort(80, "UDP"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.1"), True),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", ANY), True),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "UDP", ANY), False),
    ],
)
def test_ports_conflict_whichever_is_asked(
    one: HostPort, other: HostPort, *, conflict: bool
) -> None:
    assert (conflict, conflict) == (one.conflicts(other), other.conflicts(one))


def test_equal_asks_are_one_class() -> None:
    one, other = (pod_class(cpu=2, selector={"b": "1", "a": "2"}) for _ in range(2))

    assert {one} == {other}


@pytest.mark.parametrize(
    "other",
    [
        pod_class(cpu=2),
        pod_class(selector={"a": "1"}),
        pod_class(ports=[HostPort(80)]),
        pod_class(unsupported=["x"]),
    ],
)
def test_different_asks_are_different_classes(other: object) -> None:
    assert pod_class() != other


def test_a_pod_is_written_as_people_write_it() -> None:
    assert "team/a-0" == pod("a-0", namespace="team").key


@pytest.mark.parametrize(
    ("phase", "terminal"),
    [
        ("Pending", False),
        ("Running", False),
        ("Unknown", False),
        ("Succeeded", True),
        ("Failed", True),
    ],
)
def test_only_ended_pods_are_terminal(phase: str, *, terminal: bool) -> None:
    assert terminal == pod("a-0", phase=phase).terminal


def test_a_waiting_pod_lives() -> None:
    assert pod("a-0").living


@pytest.mark.parametrize("state", [{"phase": "Failed"}, {"deleting": True}, {"gated": True}])
def test_a_pod_that_ended_is_deleted_or_gated_does_not_live(state: dict[str, Any]) -> None:
    assert not pod("a-0", **state).living
