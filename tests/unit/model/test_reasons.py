"""What follows from a reason is complete, and no column of its row contradicts another one."""

from collections.abc import Callable

import pytest

from gang_scheduler.model.consequences import Outlook, RetryAfter, Room, Rule, Strict, Trait
from gang_scheduler.model.reasons import RULES, Reason, those_with

LAWS: tuple[tuple[str, Callable[[Rule], bool], Callable[[Rule], bool]], ...] = (
    (
        "what other nodes help, other trees help: these are made of nodes",
        lambda rule: RetryAfter.NODES in rule.retry_after,
        lambda rule: RetryAfter.TREES in rule.retry_after,
    ),
    (
        "what queues that hold less help, a larger pool helps",
        lambda rule: RetryAfter.QUOTA in rule.retry_after,
        lambda rule: RetryAfter.POOL in rule.retry_after,
    ),
    (
        "what only queues say, other queues may change",
        lambda rule: bool(RetryAfter.POOL & rule.retry_after) or Trait.OF_QUEUE in rule.traits,
        lambda rule: RetryAfter.QUEUES in rule.retry_after,
    ),
    (
        "room is made of what was sought, and tried for again after a while",
        lambda rule: Room.MADE in rule.room,
        lambda rule: (
            Room.SOUGHT | Room.CHARGED in rule.room and RetryAfter.TIME in rule.retry_after
        ),
    ),
    (
        "a gang that holds up others is in line, and a change helps it",
        lambda rule: rule.strict is Strict.HOLDS_UP,
        lambda rule: Trait.LAST not in rule.traits and rule.retry_after is not RetryAfter.NONE,
    ),
    (
        "a gang that has quota already holds up none",
        lambda rule: Room.CHARGED in rule.room,
        lambda rule: rule.strict is Strict.TRIED_ALONG,
    ),
    (
        "a gang that is promised a start has one that explain can tell, and holds up others",
        lambda rule: Trait.PROMISED in rule.traits,
        lambda rule: rule.outlook is Outlook.OPEN and rule.strict is Strict.HOLDS_UP,
    ),
    (
        "a gang that never starts as it is holds up none",
        lambda rule: rule.outlook is Outlook.IF_CHANGED,
        lambda rule: rule.strict is Strict.PASSED,
    ),
    (
        "a gang whose spec is not known has no start to explain",
        lambda rule: Trait.UNREAD in rule.traits,
        lambda rule: Trait.LAST in rule.traits and rule.outlook is Outlook.NONE,
    ),
)


def test_every_reason_has_a_row_in_their_order() -> None:
    assert list(Reason) == list(RULES)


@pytest.mark.parametrize(
    ("where", "so"), [law[1:] for law in LAWS], ids=[law.replace(" ", "-") for law, *_ in LAWS]
)
def test_no_column_contradicts_another(
    where: Callable[[Rule], bool], so: Callable[[Rule], bool]
) -> None:
    found = those_with(where)

    assert found
    assert set() == found - those_with(so)


def test_these_reasons_hold_up_a_queue_in_strict_order() -> None:
    assert {
        *(Reason.UNSCHEDULABLE, Reason.JOB_LIMIT_REACHED, Reason.WAITING_FOR_QUOTA),
        *(Reason.WAITING_FOR_CHECKS, Reason.WAITING_FOR_PROVISIONING),
    } == those_with(lambda rule: rule.strict is Strict.HOLDS_UP)


def test_a_lead_is_the_beginning_of_a_sentence_and_no_two_are_alike() -> None:
    leads = [rule.lead for rule in RULES.values()]

    assert [] == [lead for lead in leads if lead[:1] not in "IOTW" or lead.endswith(".")]
    assert len(set(leads)) == len(Reason)
