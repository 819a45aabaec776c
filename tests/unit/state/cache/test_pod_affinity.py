"""Pods know which selectors mean them, and nodes how many of those they have."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.model.causes.specs import TERMS_ABOUT_PODS
from gang_scheduler.model.plan import Bind, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import NO_SETTINGS, GangRules, Rules
from gang_scheduler.model.selectors import (
    AffinityCounts,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
    column_of,
)
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.selector_entries import LEAST
from support import cache_feeding
from support.builders import gang_key, gang_spec, node, pod, requirement
from support.selector_builders import apart_from, app, asking, beside, spread_over

US, NOW = "py-gang-scheduler", 100


def cache_of(*pods: Pod, gangs: Iterable[str] = ("g",), rules: Rules = NO_SETTINGS) -> Cache:
    cache = Cache([US], Changes(), rules)
    for i in range(2):
        cache.upsert(cache.node_store, node(f"n{i}"))
    for name in gangs:
        declared = gang_spec(name, 1)
        cache_feeding.upsert_gang_specs(cache, "scheduling.sigs.k8s.io", declared.uid, (declared,))
    for each in pods:
        cache.upsert_pod(each)
    return cache


def waiting(
    name: str, pod_affinity: PodAffinity | None = None, of: str = "a", gang: str = "g"
) -> Pod:
    return asking(pod(name, gang=gang), pod_affinity, of)


def running(
    name: str, pod_affinity: PodAffinity | None = None, of: str = "a", where: str = "n0"
) -> Pod:
    return asking(pod(name, node=where, scheduler="other", phase="Running"), pod_affinity, of)


def present(shot: Snapshot) -> dict[PodSelector, list[int]]:
    return {key: column_of(column).tolist() for key, column in shot.affinity_counts.present.items()}


def avoiding(shot: Snapshot) -> dict[AffinityTerm, list[int]]:
    return {
        key: column_of(column).tolist() for key, column in shot.affinity_counts.avoiding.items()
    }


def members(shot: Snapshot) -> dict[str, Pod]:
    gangs = (gang for group in shot.groups for gang in group.gangs)
    return {each.name: each for gang in gangs for each in gang.pending}


def refuse(cache: Cache, reason: Reason = Reason.UNSCHEDULABLE) -> None:
    for group in cache.snapshot(NOW).groups:
        for gang in group.gangs:
            cache.decisions.refused(Refused(gang, reason, gang.pending), NOW)


def due(cache: Cache) -> list[str]:
    groups = cache.snapshot(NOW).groups
    return sorted(gang.key.name for group in groups for gang in group.gangs)


def test_without_any_selector_there_is_nothing_to_know() -> None:
    plain = waiting("w", None)
    shot = cache_of(running("r"), plain).snapshot(NOW)

    assert ({}, {}) == (shot.affinity_counts.present, shot.affinity_counts.avoiding)
    assert members(shot)["w"].pod_class is plain.pod_class


def test_selectors_of_pods_that_others_schedule_count_in_both_directions() -> None:
    shot = cache_of(
        running("near", apart_from("b"), "a", "n1"), waiting("w", apart_from("a"), "b")
    ).snapshot(NOW)

    (term,) = apart_from("b").anti
    assert ({app("a"): [0, 1]}, {term: [0, 1]}) == (present(shot), avoiding(shot))
    assert {app("b")} == members(shot)["w"].pod_class.selected_by


def test_pods_that_were_there_first_are_enriched_when_a_selector_appears() -> None:
    cache = cache_of(running("r"), waiting("w", None))
    cache.snapshot(NOW)

    cache.upsert_pod(waiting("x", spread_over()))
    shot = cache.snapshot(NOW)

    staying = replace(app("a"), staying=True)
    assert {staying: [1, 0]} == present(shot)
    assert {"w": {staying}, "x": {staying}} == {
        name: set(each.pod_class.selected_by) for name, each in members(shot).items()
    }


def test_members_that_are_alike_stay_so() -> None:
    cache = cache_of(*(waiting(f"w-{i}", apart_from("a")) for i in range(3)))

    assert 1 == len({id(each.pod_class) for each in members(cache.snapshot(NOW)).values()})


def test_no_other_gang_is_tried_again_because_a_selector_appeared() -> None:
    cache = cache_of(waiting("w", None), gangs=("g", "h"))
    refuse(cache)

    cache.upsert_pod(waiting("x", apart_from("a"), gang="h"))

    assert ["h"] == due(cache)


def test_a_pod_that_ended_is_counted_no_more() -> None:
    r = running("r", apart_from("a"))
    cache = cache_of(r, waiting("w", beside("a")))

    cache.upsert_pod(replace(r, phase=pod("x", phase="Failed").phase))
    shot = cache.snapshot(NOW)

    assert ({}, {}) == (present(shot), avoiding(shot))


def test_a_pod_that_is_being_deleted_keeps_others_away_and_spreads_no_more() -> None:
    r = running("r", apart_from("a"))
    cache = cache_of(r, waiting("w", spread_over()))
    before = present(cache.snapshot(NOW))

    cache.upsert_pod(replace(r, deleting=True))
    cache.upsert_pod(waiting("x", spread_over()))
    shot = cache.snapshot(NOW)

    (term,) = apart_from("a").anti
    assert {replace(app("a"), staying=True): [1, 0]} == before
    assert ({}, {term: [1, 0]}) == (present(shot), avoiding(shot))


def test_an_assumed_bind_is_counted_and_taken_back() -> None:
    others = waiting("x", apart_from("a"), gang="h")
    cache = cache_of(waiting("w", apart_from("a")), others, gangs=("g", "h"))
    bound = members(cache.snapshot(NOW))["w"]

    counts = []
    cache.assume(Bind(bound, "n1"))
    cache.upsert_pod(replace(others, priority=1))
    counts.append(present(cache.snapshot(NOW)))
    cache.forget(bound.uid)
    counts.append(present(cache.snapshot(NOW)))

    assert [{app("a"): [0, 1]}, {}] == counts


@pytest.mark.parametrize(
    ("pod_affinity", "helped"), [(beside("a"), ["g"]), (spread_over(name="a"), ["g"]), (None, [])]
)
def test_an_arrival_helps_gangs_that_wait_for_it(
    pod_affinity: PodAffinity | None, helped: list[str]
) -> None:
    cache = cache_of(waiting("w", pod_affinity, "b"), running("c", apart_from("a"), "c"))
    refuse(cache)

    cache.upsert_pod(running("r"))

    assert helped == due(cache)


def test_an_arrival_that_no_pod_waits_for_helps_none() -> None:
    cache = cache_of(waiting("w", beside("b")), running("c", apart_from("a"), "c"))
    refuse(cache)

    cache.upsert_pod(running("r"))

    assert [] == due(cache)


def test_another_label_of_a_running_pod_helps_gangs_that_wait_for_that() -> None:
    cache = cache_of(waiting("w", beside("b")), running("r"))
    refuse(cache)

    cache.upsert_pod(running("r", of="b"))
    shot = cache.snapshot(NOW)

    assert (["w"], {app("b"): [1, 0]}) == ([*members(shot)], present(shot))


def test_another_label_of_a_namespace_helps_gangs_that_wait() -> None:
    in_tier = Clause((), frozenset(), (requirement("tier", "In", "1"),))
    term = AffinityTerm(PodSelector((in_tier,)), "zone")
    cache = cache_of(running("r"), waiting("w", PodAffinity(anti=(term,)), "b"))
    refuse(cache)
    before = due(cache)

    cache_feeding.upsert(cache, NAMESPACES, DeclaredNamespace("u", "default", {"tier": "1"}))
    shot = cache.snapshot(NOW)

    assert ([], {term.selector: [1, 0]}) == (before, present(shot))
    cache_feeding.delete(cache, NAMESPACES, "u")
    cache.upsert_pod(waiting("w", PodAffinity(anti=(term,)), "b"))
    assert {} == present(cache.snapshot(NOW))


def test_room_that_is_kept_for_others_is_seen_with_what_they_ask() -> None:
    nominated = replace(waiting("n", apart_from("b"), "a", gang="h"), nominated="n0")
    cache = cache_of(running("r", None, "b"), nominated, gangs=("g", "h"))
    refuse(cache)

    cache.upsert_pod(waiting("w", None, "c"))
    shot = cache.snapshot(NOW)

    assert (["w"], {app("b"): [1, 0]}) == ([*members(shot)], present(shot))


def test_a_snapshot_of_before_does_not_change() -> None:
    cache = cache_of(running("r"), waiting("w", beside("a")))
    shot = cache.snapshot(NOW)

    cache.upsert_pod(running("s"))

    assert {app("a"): [1, 0]} == present(shot)
    assert isinstance(shot.affinity_counts, AffinityCounts)


def test_a_gang_whose_last_hope_is_gone_is_not_looked_for() -> None:
    cache = cache_of(waiting("w", beside("a")))
    refuse(cache)
    cache_feeding.delete_gang_specs(cache, "scheduling.sigs.k8s.io", "uid-g")
    cache.delete_pod("uid-w")

    cache.upsert_pod(running("r"))

    assert [] == due(cache)
    assert gang_key("g") not in cache.gang_queue.infos


def test_a_gang_with_terms_over_the_bound_waits_until_its_namespace_has_room_for_them() -> None:
    rules = Rules(gangs=GangRules(max_term_comparisons=LEAST + 10))
    cache = cache_of(waiting("w", apart_from("b"), gang="g"), gangs=("g", "h"), rules=rules)
    cache.upsert_pod(waiting("x", apart_from("c"), gang="h"))
    shown = members(cache.snapshot(NOW))
    refused = [shown[name].pod_class.unsupported for name in "wx"]
    refuse(cache, Reason.UNSUPPORTED_FEATURE)
    before = due(cache)

    cache.delete_pod(pod("w", gang="g").uid)
    shot = cache.snapshot(NOW)

    assert ([(), (TERMS_ABOUT_PODS,)], []) == (refused, before)
    assert () == members(shot)["x"].pod_class.unsupported
