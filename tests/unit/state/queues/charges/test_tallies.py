"""The sums of entries."""

from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.queues.charges import Entry, Tallies
from support.builders import gang_key
from support.queue_builders import CPU, queue_ref

A, B = queue_ref("a"), queue_ref("b")
G, H = gang_key("g"), gang_key("h")


def tallies(*groups: GangKey) -> Tallies:
    """Return tallies in which these gangs are one group."""
    return Tallies(lambda gang: groups[0] if gang in groups else gang)


def entry(amount: int, gang: GangKey | None = G, *, waits: bool = False) -> Entry:
    return Entry(A, ((CPU, amount),), gang, waits)


def test_entries_are_summed_and_replaced() -> None:
    sums = tallies()
    sums.put("p", entry(1))
    sums.put("q", entry(2, H))
    sums.put("r", entry(4, waits=True))
    sums.put("q", entry(3, H))

    usage, _ = sums.settle()

    assert ({A: {CPU: 4}}, {A: {CPU: 4}}, {A: 2}) == (usage.charged, usage.asked, usage.running)


def test_a_queue_holds_less_only_by_the_balance() -> None:
    sums = tallies()
    sums.put("p", entry(2))
    sums.put("w", entry(2, waits=True))
    grown = sums.settle()[1]
    sums.put("p", None)
    sums.put("w", entry(2))
    moved = sums.settle()[1]
    sums.put("w", entry(1))

    assert [set(), set(), {A}] == [grown, moved, sums.settle()[1]]


def test_a_group_that_has_ended_frees_its_queue() -> None:
    sums = tallies()
    sums.put("p", Entry(A, (), G))
    sums.put("q", Entry(A, (), H))
    sums.settle()
    sums.put("p", None)

    usage, freed = sums.settle()

    assert ({A: 1}, {A}) == (usage.running, freed)


def test_gangs_of_one_group_count_once_as_soon_as_they_are() -> None:
    groups: list[GangKey] = []
    sums = Tallies(lambda gang: groups[0] if gang in groups else gang)
    sums.put("p", entry(1))
    sums.put("q", entry(1, H))
    before = sums.settle()[0]
    groups += [G, H]
    sums.groups_changed()

    assert ({A: 2}, {A: 1}) == (before.running, sums.settle()[0].running)


def test_pods_of_other_schedulers_are_no_groups() -> None:
    sums = tallies()
    sums.put("p", entry(1, None))

    assert ({A: {CPU: 1}}, {}) == (sums.settle()[0].charged, sums.settle()[0].running)


def test_what_was_given_out_never_changes() -> None:
    sums = tallies()
    sums.put("p", entry(1))
    before = sums.settle()[0]
    sums.put("q", entry(1))
    sums.settle()

    assert {A: {CPU: 1}} == before.charged
