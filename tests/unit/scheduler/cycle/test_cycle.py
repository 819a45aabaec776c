"""Many gangs are decided on one snapshot."""

from dataclasses import replace

from gang_scheduler.model.causes.specs import GangMissing, InvalidInput
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Misfit, Plan, Shortage
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.report.words import messages
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import GPU, gang, gang_key, group, node, pod, snapshot
from support.plan_reading import gangs_placed, nodes_of, reasons


def decide(nodes: list[Node], *gangs: Gang | GangGroup) -> Plan:
    return schedule(snapshot(nodes, gangs), PROFILES["binpack"])


def four_gpus(number: int = 1) -> list[Node]:
    return [node(f"n{i}", gpu=4) for i in range(number)]


def short_of_gpus(fits: int, needs: int, lacking: int = 1) -> Misfit:
    """Return why members that ask for GPUs do not fit on one node."""
    gpus = ((GPU, lacking),)
    short = Shortage(resources.obstacle, 1, gpus, asked=gpus)
    return Misfit(1, fits, needs, ((f"Insufficient {GPU}", 1),), shortage=short)


def test_nothing_to_do_is_an_empty_plan() -> None:
    assert Plan() == decide(four_gpus())


def test_the_higher_priority_comes_first() -> None:
    low, high = gang("low", pods=4, gpu=1), gang("high", pods=4, gpu=1, priority=5, created_at=9)

    plan = decide(four_gpus(), low, high)

    assert ["high"] == gangs_placed(plan)
    assert {"low": "Unschedulable"} == reasons(plan)


def test_the_older_gang_comes_first_within_a_priority() -> None:
    young, old = gang("a", pods=3, gpu=1, created_at=2), gang("b", pods=3, gpu=1, created_at=1)

    assert ["b"] == gangs_placed(decide(four_gpus(), young, old))


def test_a_gang_that_cannot_fit_does_not_block_those_behind_it() -> None:
    big = gang("big", pods=5, gpu=1, priority=9)

    plan = decide(four_gpus(), big, gang("small", pods=4, gpu=1))

    assert ["small"] == gangs_placed(plan)
    assert {"big": "Unschedulable"} == reasons(plan)


def test_all_quorums_of_a_priority_come_before_any_surplus() -> None:
    elastic = gang("elastic", pods=4, min_member=2, gpu=1, created_at=1)
    rigid = gang("rigid", pods=2, gpu=1, created_at=2)

    plan = decide(four_gpus(), elastic, rigid)

    assert {"elastic-0", "elastic-1", "rigid-0", "rigid-1"} == set(nodes_of(plan))


def test_surplus_comes_before_the_quorum_of_a_lower_priority() -> None:
    elastic = gang("elastic", pods=4, min_member=2, gpu=1, priority=1)

    plan = decide(four_gpus(), elastic, gang("low", pods=2, gpu=1))

    assert ["elastic"] == gangs_placed(plan)
    assert 4 == len(nodes_of(plan))


def test_surplus_takes_the_room_that_is_left() -> None:
    plan = decide(four_gpus(), gang("elastic", pods=6, min_member=2, gpu=1))

    assert ["elastic-0", "elastic-1", "elastic-2", "elastic-3"] == list(nodes_of(plan))


def test_surplus_without_room_is_left_over() -> None:
    plan = decide(four_gpus(), gang("elastic", pods=6, min_member=2, gpu=1))

    (refused,) = plan.refused
    assert (True, Reason.UNSCHEDULABLE) == (refused.left_over, refused.reason)
    assert ["elastic-4", "elastic-5"] == [each.name for each in refused.pods]
    assert short_of_gpus(0, 1) == refused.misfit


def test_a_gang_is_packed_as_a_whole_when_its_surplus_fits_too() -> None:
    # Alone, the quorum of two would go to the fuller node n1.
    nodes = [node("n1", gpu=2), node("n2", gpu=4)]

    plan = decide(nodes, gang("a", pods=6, min_member=2, gpu=1))

    assert ["n1"] * 2 + ["n2"] * 4 == list(nodes_of(plan).values())


def test_when_the_first_in_rank_do_not_fit_any_that_fit_make_the_quorum() -> None:
    members = [pod("a-0", gpu=8), pod("a-1", gpu=1), pod("a-2", gpu=1)]

    plan = decide(four_gpus(), gang("a", members=members, min_member=2))

    assert ["a-1", "a-2"] == list(nodes_of(plan))
    assert [["a-0"]] == [[each.name for each in refused.pods] for refused in plan.refused]


def test_only_what_is_missing_of_a_partly_bound_gang_is_the_quorum() -> None:
    partly = gang("a", pods=6, min_member=4, bound=2, gpu=2)

    assert ["a-0", "a-1"] == list(nodes_of(decide(four_gpus(), partly)))


def test_a_partly_bound_gang_is_not_placed_without_the_rest_of_its_quorum() -> None:
    partly = gang("a", pods=3, min_member=4, bound=1, gpu=2)

    (refused,) = decide(four_gpus(), partly).refused

    assert short_of_gpus(2, 3, lacking=2) == refused.misfit


def test_members_of_a_satisfied_gang_are_placed_one_by_one() -> None:
    again = gang("a", pods=3, min_member=8, gpu=2, satisfied=True)

    plan = decide(four_gpus(), again)

    assert ["a-0", "a-1"] == list(nodes_of(plan))
    assert [True] == [refused.left_over for refused in plan.refused]


def test_a_gang_waits_for_its_members() -> None:
    (refused,) = decide(four_gpus(), gang("a", pods=2, min_member=4, bound=1, gpu=1)).refused

    expected = (Reason.WAITING_FOR_MEMBERS, "3 of minMember 4 members exist", None)
    assert expected == (refused.reason, messages.describe(refused), refused.misfit)


def test_a_gang_with_a_problem_is_refused_with_it() -> None:
    problem = Problem(Reason.INVALID_SPEC, InvalidInput("spec.minMember is required"))

    (refused,) = decide(four_gpus(), gang("a", problem=problem)).refused

    assert (problem.reason, problem.cause) == (refused.reason, refused.cause)


def test_what_cannot_be_honoured_is_refused_with_pod_and_field() -> None:
    members = [pod("a-0"), pod("a-1", unsupported=["spec.volumes[0]", "spec.resourceClaims"])]

    (refused,) = decide(four_gpus(), gang("a", members=members)).refused

    detail = "pod default/a-1: spec.volumes[0], spec.resourceClaims"
    assert Reason.UNSUPPORTED_FEATURE == refused.reason
    assert f"{detail} cannot be honoured by this scheduler yet" == messages.describe(refused)


def test_gangs_that_cannot_be_tried_take_no_room() -> None:
    broken = gang(
        "a", pods=4, gpu=1, priority=1, problem=Problem(Reason.INVALID_SPEC, InvalidInput("x"))
    )
    waiting = gang("b", pods=3, min_member=9, gpu=1, priority=1)

    plan = decide(four_gpus(), broken, waiting, gang("c", pods=4, gpu=1))

    assert ["c"] == gangs_placed(plan)
    assert {"a": "InvalidSpec", "b": "WaitingForMembers"} == reasons(plan)


def test_a_gang_like_one_that_did_not_fit_gets_its_reason() -> None:
    first, second = (gang(name, pods=5, gpu=1) for name in "ab")

    plan = decide(four_gpus(), first, second)

    assert [short_of_gpus(4, 5)] * 2 == [r.misfit for r in plan.refused]


def test_a_smaller_gang_like_one_that_did_not_fit_is_tried() -> None:
    sizes = [gang(f"of-{i}", pods=i, gpu=1, created_at=10 - i) for i in (6, 5, 4)]

    assert ["of-4"] == gangs_placed(decide(four_gpus(), *sizes))


def test_a_larger_gang_like_one_that_did_not_fit_says_what_it_needs_itself() -> None:
    sizes = [gang("a", pods=5, gpu=1, created_at=1), gang("b", pods=9, gpu=1, created_at=2)]

    plan = decide(four_gpus(), *sizes)

    assert [5, 9] == [refused.misfit.needs for refused in plan.refused if refused.misfit]


def test_the_surplus_of_gangs_is_placed_in_the_order_of_gangs() -> None:
    gangs = [gang(name, pods=4, min_member=1, gpu=1, created_at=i) for i, name in enumerate("ab")]

    plan = decide(four_gpus(), *gangs)

    assert ["a-0", "a-1", "a-2", "b-0"] == list(nodes_of(plan))


def test_a_snapshot_is_not_changed() -> None:
    shot = snapshot(four_gpus(), [gang("a", pods=4, gpu=1)])
    before = shot.free.tolist()

    schedule(shot, PROFILES["binpack"])

    assert before == shot.free.tolist()


def test_no_nodes_are_room_for_no_pod() -> None:
    (refused,) = decide([], gang("a", pods=2)).refused

    assert Misfit(0, 0, 2, ()) == refused.misfit


# Groups.


def test_a_group_gets_all_its_quorums() -> None:
    plan = decide(four_gpus(), group(gang("a", pods=3, gpu=1), gang("b", gpu=1)))

    assert (["a", "b"], ()) == (gangs_placed(plan), plan.refused)


def test_a_group_gets_none_of_its_quorums_when_one_does_not_fit() -> None:
    small, big = gang("a", pods=2, gpu=1), gang("b", pods=3, gpu=1)

    plan = decide(four_gpus(), group(small, big), gang("c", pods=4, gpu=1, created_at=9))

    assert ["c"] == gangs_placed(plan)
    assert {"a": "Unschedulable", "b": "Unschedulable"} == reasons(plan)


def test_the_refusals_of_the_others_of_a_group_name_the_pod_that_did_not_fit() -> None:
    plan = decide(four_gpus(), group(gang("a", pods=2, gpu=1), gang("b", pods=3, gpu=1)))

    first, second = sorted(plan.refused, key=lambda each: each.gang.key)
    assert short_of_gpus(2, 3) == second.misfit
    expected = (
        "Gang default/b, which starts with it, does not fit. "
        'GangGroup "default/a" gets rejected due to member Pod "default/b-2" is unschedulable with '
        f'reason "{messages.describe(second)}"'
    )
    assert (expected, None) == (messages.describe(first), first.misfit)


def test_a_group_with_an_incomplete_gang_waits_for_it() -> None:
    plan = decide(
        four_gpus(), group(gang("a", gpu=1), gang("b", pods=1, min_member=2), gang("c", gpu=1))
    )

    assert {"a": "WaitingForGangs", "b": "WaitingForMembers", "c": "WaitingForGangs"} == reasons(
        plan
    )


def test_a_group_with_a_problem_gives_it_to_all_its_gangs() -> None:
    problem = Problem(Reason.WAITING_FOR_GANGS, GangMissing(gang_key("x").called, gang_key("a")))

    plan = decide(four_gpus(), group(gang("a"), gang("b"), problem=problem))

    assert [problem.cause] * 2 == [each.cause for each in plan.refused]


def test_the_minimums_of_a_group_come_before_its_surplus() -> None:
    elastic = gang("a", pods=4, min_member=1, gpu=1)

    plan = decide(four_gpus(), group(elastic, gang("b", pods=2, gpu=1)))

    assert {"a-0", "a-1", "b-0", "b-1"} == set(nodes_of(plan))


def test_surplus_is_placed_beside_the_quorum_where_all_cannot_be_packed_anew() -> None:
    members = [pod(f"a-{i}", gpu=gpu) for i, gpu in enumerate((1, 1, 4, 1))]
    nodes = [node("n1", gpu=3)]

    plan = decide(nodes, gang("a", members=members, min_member=2))

    assert ["a-0", "a-1", "a-3"] == list(nodes_of(plan))


def test_min_resources_are_a_gate() -> None:
    gated = gang("a", gpu=1, min_resources=((GPU, 5),))

    (refused,) = decide(four_gpus(), gated).refused

    expected = f"the cluster has not enough {GPU} free (spec.minResources)"
    assert (Reason.UNSCHEDULABLE, expected) == (refused.reason, messages.describe(refused))
    assert ["a"] == gangs_placed(decide(four_gpus(2), gated))


def test_a_gang_that_lacks_the_same_as_before_is_refused_by_the_same_object() -> None:
    """So nothing is noted or reported again for thousands of gangs that wait as before."""
    gangs = [gang(f"g{size}", pods=size, gpu=1) for size in (5, 6)]
    seen = snapshot(four_gpus(), gangs)

    first, second = (schedule(seen, PROFILES["binpack"]).refused for _ in range(2))

    assert [True, True] == [a is b for a, b in zip(first, second, strict=True)]


def test_a_gang_that_lacks_more_than_before_is_refused_anew() -> None:
    seen = snapshot(four_gpus(), [gang("g", pods=5, gpu=1)])
    less = replace(seen, free=seen.free // 2)

    (before,), (now,) = (schedule(each, PROFILES["binpack"]).refused for each in (seen, less))

    assert before.misfit is not None
    assert now.misfit is not None
    assert (4, 2) == (before.misfit.fits, now.misfit.fits)
