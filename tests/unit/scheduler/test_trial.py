"""Room is taken and given back, and undo is exact."""

import contextlib

import numpy as np

from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import node, pod, pod_class, snapshot

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
