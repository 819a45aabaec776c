"""Nodes that are kept as spare are closed, unless lost members are replaced."""

from collections import Counter

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.scheduler.filters import spare_nodes
from gang_scheduler.scheduler.trial import Trial
from support.builders import node, pod_class, snapshot

ASK = pod_class()


def trial() -> Trial:
    made = Trial(snapshot([node("n1"), node("n2"), node("n3")]))
    made.keep(np.array([False, True, False]))
    return made


def test_a_node_that_is_kept_has_no_slot() -> None:
    assert spare_nodes.concerns(ASK, trial())
    assert [UNLIMITED, 0, UNLIMITED] == spare_nodes.slots(ASK, trial()).tolist()


def test_what_replaces_lost_members_is_of_no_concern() -> None:
    replacing = trial()
    replacing.open_spare(replacing=True)

    assert not spare_nodes.concerns(ASK, replacing)
    assert [UNLIMITED] * 3 == spare_nodes.slots(ASK, replacing).tolist()


def test_without_spare_nodes_no_pod_is_of_concern() -> None:
    assert not spare_nodes.concerns(ASK, Trial(snapshot([node("n1")])))


def test_nodes_that_are_kept_are_counted_in_words() -> None:
    rejected = np.array([True, True, False])

    found = spare_nodes.reasons(ASK, trial(), rejected)

    assert Counter({"node(s) were kept as spare": 2}) == found
