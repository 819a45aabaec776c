"""What a gang is told that runs with fewer members than it needs."""

from gang_scheduler.model.failures import Degraded, FailedNode, LostNode, NodeFailure
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.messages import degraded_finding, degraded_words
from support.builders import pod
from support.degraded_gang import LATER, DegradedGang

BLOCK = Domain("BlockLayer", ("s0", "b0"))


def test_a_gang_that_is_whole_is_not_degraded() -> None:
    found = degraded_finding(None)

    assert (messages.DEGRADED_TYPE, False, "Whole") == (found.type, found.status, found.reason)


def test_domain_nodes_and_pods_are_named_with_what_is_short() -> None:
    nodes = (
        LostNode("n1", FailedNode("n1", NodeFailure.NOT_READY, 0)),
        LostNode("n2", FailedNode("n2", NodeFailure.TAINTED, 0, "example.com/broken")),
        LostNode("n3", FailedNode("n3", NodeFailure.GONE, 0)),
        LostNode("n4", None),
    )
    gone = pod("a-3", node="n3", deleting=True)
    there = pod("a-1", node="n1")

    found = degraded_finding(Degraded(16, 4, BLOCK, nodes, (there,), (gone,), waiting=2))

    assert (True, "PodsStuck") == (found.status, found.reason)
    assert found.message == (
        "4 of 16 members lack in BlockLayer/s0/b0; failed: node n1 (not ready since "
        "1970-01-01T00:00:00Z), node n2 (taint example.com/broken), node n3 (gone), node n4 "
        "(not ready); not deleted yet: a-1 on n1; stuck: a-3 on n3; 2 members wait in their place"
    )


def test_without_room_it_says_what_lacks() -> None:
    made = DegradedGang(free=0)
    made.lacks_room(1, LATER)

    found = degraded_finding(made.found(LATER))

    assert "NoRoomInDomain" == found.reason
    assert "1 member waits in their place without room: " in found.message
    assert "0/8 nodes are available" in found.message


def test_many_names_are_cut() -> None:
    nodes = tuple(LostNode(f"n{number}", None) for number in range(12))

    said = degraded_words(Degraded(16, 12, None, nodes))

    assert "node n9 (not ready) and 2 more; no member waits in their place" in said
    assert said.startswith("12 of 16 members lack in the cluster; ")


def test_the_reason_says_whose_turn_it_is() -> None:
    assert "NodesFailed" == degraded_finding(Degraded(2, 1, None)).reason
