"""A node takes so many volumes of a driver, each once."""

from typing import Any

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.model.volumes import PRIVATE, Attachment, Storage, Volumes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.filters import volume_limits
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import gang, pod_class, snapshot
from support.plan_reading import nodes_of
from support.volume_builders import DRIVER, hosts, volumes

BINPACK = PROFILES["binpack"]
ONE = Storage(attached=((DRIVER, PRIVATE),))
TWO_A_NODE = {DRIVER: {"n1": 2, "n2": 2}}


def shared(*handles: str) -> Storage:
    return Storage(attached=tuple((DRIVER, each) for each in handles))


def trial(**rest: Any) -> Trial:
    return Trial(snapshot(hosts("n1", "n2"), volumes=volumes(**{"limits": TWO_A_NODE, **rest})))


def slots(storage: Storage, there: Trial) -> list[int]:
    return [int(each) for each in volume_limits.slots(pod_class(storage=storage), there)]


def at(node: str, handle: str = PRIVATE) -> Attachment:
    return Attachment(node, DRIVER, handle)


def test_pods_without_such_volumes_are_not_concerned() -> None:
    assert not volume_limits.concerns(pod_class(), trial())
    assert not volume_limits.concerns(pod_class(storage=Storage(problem="x")), trial())
    assert volume_limits.concerns(pod_class(storage=ONE), trial())


def test_the_limit_is_how_many_fit() -> None:
    assert [2, 2] == slots(ONE, trial())
    assert [1, 1] == slots(Storage(attached=ONE.attached * 2), trial())
    assert [0, 0] == slots(Storage(attached=ONE.attached * 3), trial())


def test_a_node_without_a_limit_has_none() -> None:
    assert [2, UNLIMITED] == slots(ONE, trial(limits={DRIVER: {"n1": 2, "gone": 1}}))


def test_what_pods_have_attached_counts() -> None:
    assert [1, 2] == slots(ONE, trial(uses=[at("n1"), at("gone")]))


def test_a_volume_that_pods_of_a_node_share_counts_once() -> None:
    there = trial(uses=[at("n1", "x"), at("n1", "y")])

    assert [UNLIMITED, UNLIMITED] == slots(shared("x"), there)
    assert [0, UNLIMITED] == slots(shared("z"), there)
    assert [0, 1] == slots(Storage(attached=((DRIVER, PRIVATE), (DRIVER, "x"))), there)


def test_a_pod_that_adds_nothing_passes_where_there_is_too_much() -> None:
    there = trial(uses=[at("n1", "x"), at("n1", "y"), at("n1", "z")])

    assert [UNLIMITED, UNLIMITED] == slots(shared("x"), there)


def test_attachments_count_until_they_are_gone() -> None:
    there = trial(uses=[at("n1", "x")], lingering=frozenset({at("n1", "y")}))

    assert [0, 2] == slots(ONE, there)
    # As in kube-scheduler, which counts it for the attachment and for the pod.
    assert [0, UNLIMITED] == slots(shared("y"), there)


def test_a_driver_that_must_be_there_first_is_waited_for() -> None:
    there = trial(installed={DRIVER: frozenset({"n2"})}, limits={})

    assert [0, UNLIMITED] == slots(ONE, there)


def test_members_of_one_gang_count_each_others_volumes() -> None:
    found: Volumes = volumes(limits=TWO_A_NODE)

    plan = schedule(
        snapshot(hosts("n1", "n2"), [gang("a", pods=4, storage=ONE)], volumes=found), BINPACK
    )

    assert {"a-0": "n1", "a-1": "n1", "a-2": "n2", "a-3": "n2"} == nodes_of(plan)


def test_a_pod_that_leaves_takes_the_volume_along() -> None:
    there = trial(uses=[at("n1", "x"), at("n1")])
    before = slots(ONE, there)

    there.release(Share(pod_class(storage=shared("x")), np.array([0]), np.array([1])))
    there.release(Share(pod_class(storage=ONE), np.array([0]), np.array([1])))

    assert ([0, 2], [2, 2]) == (before, slots(ONE, there))


def test_a_copy_is_changed_alone() -> None:
    there = trial()
    other = there.copy()

    other.assume(Share(pod_class(storage=ONE), np.array([0]), np.array([2])))

    assert ([2, 2], [0, 2]) == (slots(ONE, there), slots(ONE, other))


def test_the_reasons_are_kube_schedulers() -> None:
    there = trial(installed={DRIVER: frozenset({"n2"})}, uses=[at("n2", "x"), at("n2", "y")])

    found = volume_limits.reasons(pod_class(storage=ONE), there, np.array([True, True]))

    expected = {
        f"{DRIVER} CSI driver is not installed on the node": 1,
        "node(s) exceed max volume count": 1,
    }
    assert expected == found
