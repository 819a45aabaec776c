"""A pod goes where its volumes are."""

import numpy as np

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.volumes import Storage
from gang_scheduler.scheduler.filters import bound_volumes
from support.builders import pod_class
from support.volume_builders import hosts, on

NODES = NodeTable(hosts("n1", "n2", "n3"))


def test_a_pod_without_volumes_may_be_anywhere() -> None:
    assert [True] * 3 == bound_volumes.passes(pod_class(), NODES).tolist()


def test_all_volumes_must_be_reached() -> None:
    asked = pod_class(storage=Storage(affinities=(on("n1", "n2"), on("n2", "n3"))))

    assert [False, True, False] == bound_volumes.passes(asked, NODES).tolist()


def test_terms_that_are_none_mean_no_node() -> None:
    asked = pod_class(storage=Storage(affinities=((),)))

    assert not bound_volumes.passes(asked, NODES).any()


def test_no_node_will_do_while_a_claim_is_not_ready() -> None:
    asked = pod_class(storage=Storage(problem='persistentvolumeclaim "x" not found'))

    assert not bound_volumes.passes(asked, NODES).any()
    assert {'persistentvolumeclaim "x" not found': 3} == bound_volumes.reasons(
        asked, NODES, np.array([True] * 3)
    )


def test_the_reason_is_kube_schedulers() -> None:
    asked = pod_class(storage=Storage(affinities=(on("n1"),)))

    found = bound_volumes.reasons(asked, NODES, np.array([False, True, True]))

    assert {"node(s) didn't match PersistentVolume's node affinity": 2} == found
