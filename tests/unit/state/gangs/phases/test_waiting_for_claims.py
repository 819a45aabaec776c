"""A gang that has room and waits for its claims: what is known and said of it meanwhile."""

from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.plan import Bind, Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.pod_group_status import View, status_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import counts_of, phase_of
from support import cache_feeding
from support.builders import SCHEDULER, gang, gang_spec, pod
from support.gang_queue_builders import KEY, NOW

WORDS = "2 of 2 claims are not bound yet: default/data-0 (StorageClass fast) and 1 more"


def held(words: str = WORDS) -> Cache:
    """Return a cache with a gang of two that has room and waits."""
    cache = Cache([SCHEDULER], Changes())
    spec = gang_spec("a", 2)
    cache_feeding.upsert_gang_specs(cache, "scheduling.sigs.k8s.io", spec.uid, [spec])
    for name in ("a-0", "a-1"):
        cache.upsert_pod(pod(name, gang="a"))
    cache.snapshot(NOW)
    cache.decisions.placed(KEY)
    for name in ("a-0", "a-1"):
        cache.assume(Bind(pod(name, gang="a"), "n1"))
    cache.decisions.hold(KEY)
    wait(cache, words)
    return cache


def wait(cache: Cache, words: str = WORDS) -> None:
    cache.decisions.held(
        Refused(gang("a"), Reason.WAITING_FOR_VOLUMES, (), cause=InvalidInput(words))
    )


def record(cache: Cache) -> GangInfo:
    return cache.gang_queue.infos[KEY]


def said_of(cache: Cache) -> tuple[str, str, str]:
    """Return status, reason and message of the condition Scheduled."""
    declared = record(cache).observed.spec
    assert declared is not None
    conditions = status_of(record(cache), declared, View({}, now=NOW))["conditions"]
    found = next(each for each in conditions if each["type"] == "Scheduled")
    return found["status"], found["reason"], found["message"]


def test_its_status_says_which_claims_it_waits_for() -> None:
    cache = held()

    assert ("False", "WaitingForVolumes", WORDS) == said_of(cache)
    assert "Scheduling" == phase_of(counts_of(record(cache)))
    assert 1 == cache.gang_queue.waiting[Reason.WAITING_FOR_VOLUMES]


def test_a_cycle_that_looks_at_it_again_changes_nothing() -> None:
    cache = held()

    assert () == cache.snapshot(NOW + 1).groups
    assert ("False", "WaitingForVolumes", WORDS) == said_of(cache)


def test_the_same_words_again_are_no_news() -> None:
    cache = held()
    cache.gang_queue.changed.clear()

    wait(cache)

    assert set() == cache.gang_queue.changed


def test_other_words_are() -> None:
    cache = held()
    cache.gang_queue.changed.clear()

    wait(cache, "1 of 2 claims are not bound yet")

    assert {KEY} == cache.gang_queue.changed
    assert "1 of 2 claims are not bound yet" == said_of(cache)[2]


def test_once_its_claims_are_bound_it_is_being_bound_itself() -> None:
    cache = held()

    cache.decisions.let_go(KEY)

    assert ("False", "Scheduling", "members are being bound") == said_of(cache)
    assert 0 == cache.gang_queue.waiting[Reason.WAITING_FOR_VOLUMES]


def test_what_a_gang_waits_for_that_is_not_held_stays() -> None:
    cache = held()
    cache.decisions.let_go(KEY)
    for uid in ("uid-a-0", "uid-a-1"):
        cache.forget(uid)
    refused = Refused(
        gang("a"), Reason.WAITING_FOR_VOLUMES, (), cause=InvalidInput("given up after 600 s")
    )
    cache.decisions.bind_failed(refused, NOW)

    cache.decisions.let_go(KEY)

    assert ("False", "WaitingForVolumes", "given up after 600 s") == said_of(cache)
    assert "Scheduling" == phase_of(counts_of(record(cache)))


def test_a_gang_that_is_gone_meanwhile_is_no_trouble() -> None:
    cache = held()
    for uid in ("uid-a-0", "uid-a-1"):
        cache.delete_pod(uid)
    cache_feeding.delete_gang_specs(cache, "scheduling.sigs.k8s.io", gang_spec("a", 2).uid)

    wait(cache)
    cache.decisions.let_go(KEY)

    assert KEY not in cache.gang_queue.infos


# Members that come while a quorum is held.


def test_a_pod_that_comes_while_a_quorum_is_held_waits_with_it() -> None:
    cache = held()
    cache.upsert_pod(pod("a-late", gang="a"))
    waits = cache.snapshot(NOW + 1).groups

    cache.decisions.let_go(KEY)

    (group,) = cache.snapshot(NOW + 2).groups
    assert () == waits
    assert ["a-late"] == [each.name for each in group.waiting[0].pending]


def test_a_pod_that_comes_before_anything_was_said_of_claims_waits_too() -> None:
    cache = held("")
    record(cache).verdict.note(None)

    cache.upsert_pod(pod("a-late", gang="a"))

    assert () == cache.snapshot(NOW + 1).groups


def test_members_that_join_a_gang_hold_back_no_gang() -> None:
    cache = held()
    cache.decisions.hold(KEY, joins=True)
    cache.decisions.let_go(KEY)
    cache.upsert_pod(pod("a-late", gang="a"))

    (group,) = cache.snapshot(NOW + 1).groups

    assert ["a-late"] == [each.name for each in group.waiting[0].pending]
    assert ("False", "WaitingForVolumes", WORDS) == said_of(cache)


def test_a_member_that_joined_says_nothing_of_a_quorum_that_did_not_start() -> None:
    cache = held()
    cache.decisions.let_go(KEY)
    failed = Refused(
        gang("a"), Reason.UNSCHEDULABLE, (pod("a-0"), pod("a-1")), cause=ApiAnswer("refused")
    )
    cache.decisions.bind_failed(failed, NOW)

    cache.decisions.surplus_bound(gang("a", min_member=2), [pod("a-2")])

    assert not record(cache).attempt.was_whole
    assert failed is record(cache).verdict.refusal


def test_a_member_that_joined_after_all_has_nothing_to_say_any_more() -> None:
    cache = held()
    cache.decisions.let_go(KEY)
    late = pod("a-2")
    cache.decisions.bind_failed(Refused(gang("a"), Reason.WAITING_FOR_VOLUMES, (late,)), NOW)

    cache.decisions.surplus_bound(gang("a", min_member=2), [late])

    assert record(cache).verdict.refusal is None
