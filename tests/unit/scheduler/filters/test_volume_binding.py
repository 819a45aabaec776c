"""Claims that wait for their pods find volumes, each once, or new ones."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import UNLIMITED
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Pool, Provisioning, Storage, Volume, Volumes
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.filters import volume_binding
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import gang, pod, pod_class, requirement, snapshot
from support.call_counts import calls_of
from support.plan_reading import nodes_of, reasons
from support.volume_builders import HOST, LATE, disk, hosts, need, needing, on, volumes

BINPACK = PROFILES["binpack"]
ANYWHERE = {LATE: Provisioning()}
NAMES = ("n1", "n2", "n3")


def trial(found: Volumes) -> Trial:
    return Trial(snapshot(hosts(*NAMES), volumes=found))


def slots(storage: Storage, found: Volumes) -> list[int]:
    return [int(each) for each in volume_binding.slots(pod_class(storage=storage), trial(found))]


def volumes_in(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {bind.pod.name: bind.volumes for placed in plan.placed for bind in placed.binds}


@pytest.mark.parametrize("asked", [pod_class(), pod_class(storage=Storage(sole=("default/data",)))])
def test_no_other_pod_is_concerned(asked: PodClass) -> None:
    assert not volume_binding.concerns(asked, trial(volumes()))


def test_local_volumes_are_the_slots_of_their_nodes() -> None:
    found = volumes(disk("a", "n1"), disk("b", "n1"), disk("c", "n2"))

    assert [2, 1, 0] == slots(needing(need()), found)


def test_a_pod_of_two_claims_needs_two_volumes() -> None:
    found = volumes(disk("a", "n1"), disk("b", "n1"), disk("c", "n2"))

    assert [1, 0, 0] == slots(needing(need(), need()), found)


def test_a_class_makes_as_many_as_are_needed() -> None:
    assert [UNLIMITED] * 3 == slots(needing(need(LATE)), volumes(made=ANYWHERE))


def test_a_class_makes_volumes_where_its_topology_allows() -> None:
    made = {LATE: Provisioning(on("n1", "n3"))}

    assert [UNLIMITED, 0, UNLIMITED] == slots(needing(need(LATE)), volumes(made=made))


def test_one_claim_that_is_not_met_is_enough_to_refuse() -> None:
    found = volumes(disk("a", "n2"), made=ANYWHERE)

    assert [0, 1, 0] == slots(needing(need(LATE), need()), found)


def test_a_driver_that_tells_its_room_is_believed() -> None:
    small = Pool(4, (requirement(HOST, "In", "n1"),))
    large = Pool(9, (requirement(HOST, "NotIn", "n1", "n3"),))
    made = {LATE: Provisioning(pools=(small, large))}

    assert [0, UNLIMITED, 0] == slots(needing(need(LATE, 5)), volumes(made=made))
    assert [UNLIMITED] * 3 == slots(
        needing(need(LATE, 5)), volumes(made={LATE: Provisioning(pools=(Pool(5),))})
    )


def test_the_selected_node_is_the_only_one() -> None:
    found = volumes(disk("a", "n1", storage_class=LATE), made=ANYWHERE)

    assert [0, UNLIMITED, 0] == slots(needing(need(LATE, node="n2")), found)
    assert [0, 0, 0] == slots(needing(need(LATE, node="gone")), found)


def test_a_kept_volume_is_for_its_claim_alone() -> None:
    found = volumes(disk("a", "n1", for_claim=True), disk("b", "n2"))

    assert [0, 1, 0] == slots(needing(need()), found)
    assert [1, 0, 0] == slots(needing(need(volume="a")), found)


@pytest.mark.parametrize(
    "unfit",
    [
        disk("a", "n1", size=4),
        disk("a", "n1", size=5, volume_mode="Block"),
        disk("a", "n1", size=5, attributes_class="gold"),
        disk("a", "n1", size=5, modes=("ReadOnlyMany",)),
        disk("a", "n1", size=5, modes=("ReadWriteOnce",), labels={"tier": "slow"}),
        disk("a", "n1", size=5, modes=("ReadWriteOnce",), storage_class="other"),
    ],
)
def test_a_volume_must_suit_the_claim(unfit: Volume) -> None:
    asked = need(size=5, modes=("ReadWriteOnce",), selector=(requirement("tier", "NotIn", "slow"),))

    assert [0, 0, 0] == slots(needing(asked), volumes(unfit))


def test_the_smallest_that_suits_is_taken_then_the_first_by_name() -> None:
    found = volumes(disk("c", "n1", size=2), disk("b", "n1", size=3), disk("a", "n1", size=3))
    members = [pod(f"a-{i}", storage=needing(need(size=2))) for i in range(3)]

    plan = schedule(snapshot(hosts("n1"), [gang("a", members=members)], volumes=found), BINPACK)

    assert {"a-0": ("b",), "a-1": ("a",), "a-2": ("c",)} == volumes_in(plan)


def test_members_get_a_volume_each_on_the_node_that_has_it() -> None:
    found = volumes(*(disk(f"d-{name}", name) for name in NAMES))

    plan = schedule(
        snapshot(hosts(*NAMES), [gang("a", pods=3, storage=needing(need()))], volumes=found),
        BINPACK,
    )

    assert {"a-0": "n1", "a-1": "n2", "a-2": "n3"} == nodes_of(plan)
    assert {"a-0": ("d-n1",), "a-1": ("d-n2",), "a-2": ("d-n3",)} == volumes_in(plan)


def test_what_is_to_be_made_has_no_name() -> None:
    storage = needing(need(), need(LATE, 2))
    found = volumes(disk("a", "n2"), made=ANYWHERE)

    plan = schedule(snapshot(hosts(*NAMES), [gang("a", storage=storage)], volumes=found), BINPACK)

    assert {"a-0": ("a", "")} == volumes_in(plan)


@pytest.mark.parametrize(("size", "placed"), [(2, {"a-0", "a-1"}), (3, set())])
def test_volumes_that_all_nodes_reach_are_used_once(size: int, placed: set[str]) -> None:
    found = volumes(disk("a"), disk("b"))
    gangs = [gang("a", pods=size, storage=needing(need()))]

    plan = schedule(snapshot(hosts(*NAMES), gangs, volumes=found), BINPACK)

    assert placed == nodes_of(plan).keys()
    assert len(placed) == len({each for (each,) in volumes_in(plan).values()})


def test_a_later_gang_finds_what_an_earlier_one_left() -> None:
    gangs = [gang(name, created_at=i, storage=needing(need())) for i, name in enumerate("abc")]

    plan = schedule(
        snapshot(hosts(*NAMES), gangs, volumes=volumes(disk("x", "n2"), disk("y"))), BINPACK
    )

    assert {"a-0", "b-0"} == nodes_of(plan).keys()
    assert {"c": "Unschedulable"} == reasons(plan)


def test_classes_of_members_compete_for_the_same_volumes() -> None:
    members = [
        pod("a-0", cpu=2, storage=needing(need(size=2))),
        pod("a-1", storage=needing(need())),
    ]
    found = volumes(disk("s", size=1), disk("l", size=2))

    plan = schedule(snapshot(hosts(*NAMES), [gang("a", members=members)], volumes=found), BINPACK)

    assert {"a-0": ("l",), "a-1": ("s",)} == volumes_in(plan)


@pytest.mark.parametrize(("size", "nodes"), [(8, {"n1"}), (9, set())])
def test_a_pod_that_shares_a_claim_goes_where_its_volume_is_made(
    size: int, nodes: set[str]
) -> None:
    shared = needing(need(LATE, claim="default/data"))
    there = snapshot(
        hosts(*NAMES), [gang("a", pods=size, storage=shared)], volumes=volumes(made=ANYWHERE)
    )

    plan = schedule(there, BINPACK)

    assert nodes == set(nodes_of(plan).values())
    assert volume_binding.coupled(pod_class(storage=shared), Trial(there))


def test_a_shared_claim_takes_one_volume() -> None:
    shared = needing(need(claim="default/data"))
    found = volumes(disk("d", "n1", "n2"))

    plan = schedule(
        snapshot(hosts(*NAMES), [gang("a", pods=2, cpu=5, storage=shared)], volumes=found),
        BINPACK,
    )

    assert {"a-0": "n1", "a-1": "n2"} == nodes_of(plan)
    assert {"a-0": ("d",), "a-1": ("d",)} == volumes_in(plan)


@pytest.mark.parametrize(
    ("found", "coupled"),
    [
        (volumes(disk("a", "n1"), disk("b", "n2")), False),
        (volumes(disk("a", "n1", "n2")), True),
        (volumes(disk("a")), True),
        (volumes(made={"local": Provisioning()}), False),
        (volumes(disk("a"), made={"local": Provisioning()}), False),
    ],
)
def test_nodes_are_coupled_that_reach_one_volume(found: Volumes, coupled: bool) -> None:  # noqa: FBT001 - a row of a table.
    assert coupled == volume_binding.coupled(pod_class(storage=needing(need())), trial(found))


def test_a_volume_that_is_promised_couples_no_pod_any_more() -> None:
    asked = pod_class(storage=needing(need()))
    there = trial(volumes(disk("a")))

    there.assume(Share(asked, np.array([0]), np.array([1])))

    assert not volume_binding.coupled(asked, there)
    assert [0, 0, 0] == volume_binding.slots(asked, there).tolist()


def test_the_reasons_are_kube_schedulers() -> None:
    small = Pool(1, (requirement(HOST, "Exists"),))
    made = {LATE: Provisioning(on("n1"), (small,))}
    everywhere = np.array([True, True, True])

    found = volume_binding.reasons(
        pod_class(storage=needing(need(LATE, 5))), trial(volumes(made=made)), everywhere
    )

    expected = {
        "node(s) did not have enough free storage": 1,
        "node(s) didn't find available persistent volumes to bind": 2,
    }
    assert expected == found


def test_volumes_are_looked_up_once_for_shared_claims_that_are_alike() -> None:
    def looked_up(number: int) -> tuple[int, int]:
        there = trial(volumes(*(disk(f"d{i}", NAMES[i % 3]) for i in range(9))))
        asked = [pod_class(storage=needing(need(claim=f"default/{i}"))) for i in range(number)]
        calls = calls_of(lambda: [volume_binding.slots(each, there) for each in asked])
        return calls["volumes.VolumeTopology._find"], calls["volumes.VolumeChoices._room"]

    assert looked_up(1) == looked_up(20) == (1, 1)


def test_what_is_looked_at_of_volumes_counts_as_work_once() -> None:
    def work(number: int) -> list[float]:
        there = trial(volumes(*(disk(f"d{i}", NAMES[i % 3]) for i in range(number))))
        asked = pod_class(storage=needing(need()))
        counted = []
        for _ in range(2):
            before = there.effort.done
            volume_binding.slots(asked, there)
            counted.append(there.effort.done - before)
        return counted

    few, many = work(30), work(3000)

    assert many[0] > 50 * few[0]
    assert [0, 0] == [few[1], many[1]]
