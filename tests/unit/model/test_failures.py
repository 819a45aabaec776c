"""When a node counts as failed."""

import pytest

from gang_scheduler.model.failures import (
    OUT_OF_SERVICE,
    UNREACHABLE,
    FailedNode,
    NodeFailure,
    failure_of,
    is_suspect,
)
from gang_scheduler.model.rules import GangRules
from support.builders import node

RULES = GangRules(node_failure_taints=("example.com/broken",))


def test_a_healthy_node_has_not_failed() -> None:
    healthy = node("n1", taints=["dedicated=infra:NoSchedule"])

    assert not is_suspect(healthy, RULES)
    assert failure_of(healthy, RULES, 0, 1000) is None


def test_a_node_has_failed_that_was_not_ready_for_so_long() -> None:
    out = node("n1", ready=False)

    assert is_suspect(out, RULES)
    assert failure_of(out, RULES, 100, 129) is None
    assert FailedNode("n1", NodeFailure.NOT_READY, 100) == failure_of(out, RULES, 100, 130)


@pytest.mark.parametrize("key", [OUT_OF_SERVICE, UNREACHABLE, "example.com/broken"])
def test_a_taint_says_it_at_once(key: str) -> None:
    tainted = node("n1", taints=["dedicated:NoSchedule", f"{key}:NoExecute"])

    assert is_suspect(tainted, RULES)
    assert FailedNode("n1", NodeFailure.TAINTED, 100, key) == failure_of(tainted, RULES, 100, 100)


def test_further_taints_are_those_of_the_settings() -> None:
    assert not is_suspect(node("n1", taints=["example.com/broken:NoSchedule"]), GangRules())
