"""Claims for one pod alone have one pod, and disks that are written one pod a node."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.model.volumes import Disk, DiskUse, SoleUse, Storage, Use, Volumes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.filters import volume_restrictions
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import gang, pod_class, snapshot
from support.plan_reading import nodes_of
from support.volume_builders import hosts, volumes

BINPACK = PROFILES["binpack"]
SOLE = Storage(sole=("default/data",))
WRITTEN = Disk(("gce d",))
READ = Disk(("gce d",), read_only=True)


def slots(storage: Storage, found: Volumes | None = None) -> list[int]:
    trial = Trial(snapshot(hosts("n1", "n2"), volumes=found or volumes()))
    return [int(each) for each in volume_restrictions.slots(pod_class(storage=storage), trial)]


def test_pods_that_share_nothing_are_not_concerned() -> None:
    trial = Trial(snapshot(hosts("n1")))

    assert not volume_restrictions.concerns(pod_class(), trial)
    assert not volume_restrictions.concerns(pod_class(storage=Storage(problem="x")), trial)
    assert volume_restrictions.concerns(pod_class(storage=SOLE), trial)


def test_a_claim_for_one_pod_is_for_no_other_wherever_that_is() -> None:
    assert [1, 1] == slots(SOLE)
    assert [1, 1] == slots(SOLE, volumes(uses=[SoleUse("default/other")]))
    assert [0, 0] == slots(SOLE, volumes(uses=[SoleUse("default/data")]))


@pytest.mark.parametrize(
    ("own", "used", "expected"),
    [
        (WRITTEN, WRITTEN, [0, 1]),
        (READ, WRITTEN, [0, UNLIMITED]),
        (WRITTEN, READ, [0, 1]),
        (READ, READ, [UNLIMITED, UNLIMITED]),
        (WRITTEN, Disk(("gce e",)), [1, 1]),
        (Disk(("rbd m1 p i", "rbd m2 p i")), Disk(("rbd m2 p i", "rbd m3 p i")), [0, 1]),
    ],
)
def test_a_disk_that_a_pod_writes_is_for_one_pod_a_node(
    own: Disk, used: Disk, expected: list[int]
) -> None:
    found = volumes(uses=[DiskUse("n1", used), DiskUse("gone", own)])

    assert expected == slots(Storage(disks=(own,)), found)


def test_members_of_one_gang_see_each_others_claims() -> None:
    plan = schedule(snapshot(hosts("n1", "n2"), [gang("a", pods=2, storage=SOLE)]), BINPACK)

    assert {} == nodes_of(plan)


def test_members_of_one_gang_see_each_others_disks() -> None:
    gangs = [gang("a", pods=2, storage=Storage(disks=(WRITTEN,)))]

    plan = schedule(snapshot(hosts("n1", "n2"), gangs), BINPACK)

    assert {"a-0": "n1", "a-1": "n2"} == nodes_of(plan)


def test_only_claims_couple_nodes() -> None:
    trial = Trial(snapshot(hosts("n1", "n2")))

    assert volume_restrictions.coupled(pod_class(storage=SOLE), trial)
    assert not volume_restrictions.coupled(pod_class(storage=Storage(disks=(WRITTEN,))), trial)


def test_a_pod_that_leaves_leaves_the_claim() -> None:
    trial = Trial(snapshot(hosts("n1"), volumes=volumes(uses=[SoleUse("default/data")])))

    trial.release(Share(pod_class(storage=SOLE), np.array([0]), np.array([1])))

    assert [1] == volume_restrictions.slots(pod_class(storage=SOLE), trial).tolist()


def test_the_reasons_are_kube_schedulers() -> None:
    asked = pod_class(storage=Storage(sole=SOLE.sole, disks=(WRITTEN,)))
    uses: list[Use] = [SoleUse("default/data"), DiskUse("n1", READ)]
    trial = Trial(snapshot(hosts("n1", "n2"), volumes=volumes(uses=uses)))

    found = volume_restrictions.reasons(asked, trial, np.array([True, True]))

    expected = {
        "node(s) had no available disk": 1,
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already"
        " in-use by another pod": 1,
    }
    assert expected == found
