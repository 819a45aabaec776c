"""Room is taken and given back, and undo is exact."""

import contextlib
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.model.selectors import (
    AffinityCounts,
    AffinityTerm,
    FewNodes,
    NodeCounts,
    PodAffinity,
)
from gang_scheduler.scheduler import pod_affinity
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import node, pod, pod_class, snapshot
from support.selector_builders import app

SSH, WEB = HostPort(22), HostPort(80)
State = tuple[list[list[int]], dict[HostPort, list[int]]]


def share(asked: PodClass, **counts: int) -> Share:
    rows = [int(name.removeprefix("n")) - 1 for name in counts]
    return Share(asked, np.array(rows), np.array(list(counts.values())))


def state(trial: Trial) -> State:
    return trial.free.tolist(), {port: sorted(trial.ports.rows(port)) for port in (SSH, WEB)}


def new_trial() -> Trial:
    holder = pod("x", node="n1", cpu=1, ports=[SSH])
    return Trial(
        snapshot([node("n1", cpu=8, memory=0), node("n2", cpu=4, memory=0)], bound=[holder])
    )


def test_taking_room_leaves_less() -> None:
    trial = new_trial()

    trial.assume(share(pod_class(cpu=2), n1=3, n2=1))

    assert [[1000, 106], [2000, 109]] == trial.free.tolist()


def test_giving_back_is_the_opposite_of_taking() -> None:
    trial = new_trial()
    before = state(trial)
    taken = share(pod_class(cpu=2, ports=[WEB]), n1=1, n2=1)

    trial.assume(taken)
    trial.release(taken)

    assert before == state(trial)


def test_room_of_many_classes_is_given_back_and_taken_again_exactly() -> None:
    trial = new_trial()
    before = state(trial)
    taken = [share(pod_class(cpu=cpu, ports=[WEB]), n1=1, n2=1) for cpu in (1, 2)]

    trial.assume(*taken)
    with trial.all_or_nothing():
        trial.release(*taken)
        assert before == state(trial)
    trial.release(*taken)

    assert before == state(trial)


def test_ports_are_taken_beside_those_that_are_taken_already() -> None:
    trial = new_trial()

    trial.assume(share(pod_class(ports=[WEB]), n1=1, n2=1))

    _, taken = state(trial)
    assert {SSH: [0], WEB: [0, 1]} == taken


def test_the_snapshot_does_not_change() -> None:
    shot = snapshot([node("n1", cpu=8, memory=0)])

    Trial(shot).assume(share(pod_class(cpu=2, ports=[WEB]), n1=1))

    assert ([[8000, 110]], {}) == (shot.free.tolist(), shot.host_ports)


def test_what_was_not_kept_is_undone() -> None:
    trial = new_trial()
    before = state(trial)

    with trial.all_or_nothing():
        trial.assume(share(pod_class(cpu=2, ports=[WEB]), n1=1, n2=1))
        trial.assume(share(pod_class(cpu=1), n1=4))

    assert before == state(trial)


def test_what_was_kept_stays() -> None:
    trial = new_trial()

    with trial.all_or_nothing() as transaction:
        trial.assume(share(pod_class(cpu=2), n1=1))
        transaction.commit()

    assert [[5000, 108], [4000, 110]] == trial.free.tolist()


def test_an_attempt_inside_another_is_undone_alone() -> None:
    trial = new_trial()

    with trial.all_or_nothing() as outer:
        trial.assume(share(pod_class(cpu=2), n1=1))
        after_first = state(trial)
        with trial.all_or_nothing():
            trial.assume(share(pod_class(cpu=1, ports=[WEB]), n1=2))
        outer.commit()

    assert after_first == state(trial)


def test_an_attempt_that_was_kept_is_undone_with_the_one_around_it() -> None:
    trial = new_trial()
    before = state(trial)

    with trial.all_or_nothing():
        with trial.all_or_nothing() as inner:
            trial.assume(share(pod_class(cpu=1, ports=[WEB]), n1=1))
            inner.commit()
        trial.assume(share(pod_class(cpu=1), n2=1))

    assert before == state(trial)


def test_giving_back_inside_an_attempt_is_undone_too() -> None:
    trial = new_trial()
    earlier = share(pod_class(cpu=2, ports=[WEB]), n1=1)
    trial.assume(earlier)
    before = state(trial)

    with trial.all_or_nothing():
        trial.release(earlier)
        trial.assume(share(pod_class(cpu=3, ports=[WEB]), n1=1))

    assert before == state(trial)


def test_an_error_undoes_too() -> None:
    trial = new_trial()
    before = state(trial)

    with contextlib.suppress(ZeroDivisionError), trial.all_or_nothing():
        trial.assume(share(pod_class(cpu=2), n1=1))
        raise ZeroDivisionError

    assert before == state(trial)


def test_columns_of_resources_are_contiguous_since_one_is_divided_at_a_time() -> None:
    nodes = [node(f"n{i}", cpu=8, memory=64) for i in range(3)]
    trial = Trial(snapshot(nodes))

    columns = [table[:, 0] for table in (trial.free, trial.copy().free, trial.nodes.allocatable)]

    assert all(each.flags.c_contiguous for each in columns)


@pytest.mark.parametrize("seed", range(20))
def test_pods_that_many_selectors_select_are_counted_as_others_are(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_affinity, "MOST_PARTS", 3)
    found = []
    for widely in (0, 1, 1000):
        monkeypatch.setattr(pod_affinity, "WIDELY_SELECTED", widely)
        found.append(counted(Random(seed)))  # noqa: S311 - for changes, not for secrets.

    assert found[0] == found[1] == found[2]


def counted(dice: Random) -> list[tuple[bool, list[int], list[int], list[bool]]]:
    """Return what selectors count during random changes to copies of a trial."""
    selectors = [app(f"s{number}") for number in range(4)]
    classes = [
        replace(pod_class(cpu=cpu), selected_by=frozenset(dice.sample(selectors, size)))
        for cpu, size in enumerate((1, 2, 2, 4), start=1)
    ]
    trials = [Trial(snapshot([node(f"n{number}", cpu=9) for number in range(1, 4)]))]
    found = []
    for _ in range(60):
        trial, selector = dice.choice(trials), dice.choice(selectors)
        placed = share(dice.choice(classes), **{f"n{dice.randint(1, 3)}": dice.randint(1, 2)})
        placed = replace(placed, nominated=dice.random() < 0.3)
        match dice.randrange(5):
            case 0:
                trial.assume(placed)
                trial.release(placed)
            case 1:
                with trial.all_or_nothing():
                    trial.assume(placed)
                    trial.pod_affinity.present(selector)
            case 2 if len(trials) < 4:
                trials.append(trial.copy())
            case _:
                trial.assume(placed)
        ledger = trial.pod_affinity
        near = ledger.near_all(selector, ["kubernetes.io/hostname"])
        counts = ledger.present(selector).tolist(), ledger.expected(selector).tolist()
        found.append((ledger.has_any(selector), *counts, near.tolist()))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_terms_of_pods_on_nodes_are_honoured_together_as_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for most in (0, 1000):
        monkeypatch.setattr(pod_affinity, "MOST_SUMMED_APART", most)
        found.append(avoided(Random(seed)))  # noqa: S311 - for changes, not for secrets.

    assert found[0] == found[1]
    assert any(any(each) for each in found[0])


def avoided(dice: Random) -> list[list[bool]]:
    """Return the nodes that terms forbid, during random changes to a trial."""
    terms = [AffinityTerm(app(f"s{i}"), key) for i in range(4) for key in ("rack", "zone")]
    labels = [{"rack": f"r{i // 2}", "zone": f"z{i // 4}"} for i in range(6)]
    nodes = [node(f"n{i}", cpu=99, labels=each) for i, each in enumerate(labels)]
    there: dict[AffinityTerm, NodeCounts] = {
        terms[0]: FewNodes((dice.randrange(6),), (1,), 6),
        terms[1]: np.array([0, 0, 0, 0, dice.randrange(2), 1]),
    }
    trial = Trial(replace(snapshot(nodes), affinity_counts=AffinityCounts(avoiding=there)))
    wanted = replace(pod_class(), selected_by=frozenset(app(f"s{i}") for i in range(3)))
    found = []
    for _ in range(30):
        of = PodAffinity(anti=tuple(dice.sample(terms, dice.randrange(3))))
        placed = share(replace(pod_class(), pod_affinity=of), **{f"n{dice.randint(1, 6)}": 1})
        trial.assume(placed)
        if dice.random() < 0.7:
            trial.release(placed)
        found.append(trial.pod_affinity.avoided_by(wanted).tolist())
    return found


def test_thousands_of_terms_about_a_pod_are_summed_once_for_each_key() -> None:
    terms = [AffinityTerm(app(f"s{number}"), "rack") for number in range(1_000)]
    there = {each: FewNodes((number % 2,), (1,), 3) for number, each in enumerate(terms)}
    nodes = [node(f"n{number}", labels={"rack": f"r{number}"}) for number in range(3)]
    trial = Trial(replace(snapshot(nodes), affinity_counts=AffinityCounts(avoiding=there)))
    wanted = replace(pod_class(), selected_by=frozenset(each.selector for each in terms))

    assert [True, True, False] == trial.pod_affinity.avoided_by(wanted).tolist()
    assert 1 == trial.pod_affinity.summed
    assert not any("column" in vars(each) for each in there.values())
