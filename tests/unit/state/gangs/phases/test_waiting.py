"""Which gangs wait, and which of them are in line."""

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import in_line, waits
from support import builders, cache_feeding


class Seen:
    """A gang with so many members, of which some have a node."""

    def __init__(
        self, *, members: int, bound: int = 0, scheduler: str = builders.SCHEDULER
    ) -> None:
        self.cache = Cache([builders.SCHEDULER], Changes())
        told = [builders.gang_spec("g", min_member=2)]
        cache_feeding.upsert_gang_specs(self.cache, POD_GROUPS.group, "uid-g", told)
        for number in range(members):
            node = "n" if number < bound else ""
            pod = builders.pod(f"g-{number}", gang="g", node=node, scheduler=scheduler)
            self.cache.upsert_pod(pod)

    @property
    def info(self) -> GangInfo:
        """What is known of it."""
        return self.cache.gang_queue.infos[builders.gang_key("g")]

    def refused(self, reason: Reason, *, left_over: bool = False) -> "Seen":
        """Note that a cycle has refused it."""
        gang = self.info.as_gang(self.cache.schedulers)
        self.info.verdict.note(Refused(gang, reason, gang.pending, left_over=left_over))
        return self

    def waits(self) -> bool:
        """Return whether it waits."""
        return waits(self.info, self.cache)


def test_a_gang_without_a_quorum_on_nodes_waits() -> None:
    assert Seen(members=2).waits()
    assert Seen(members=2, bound=1).waits()


def test_a_gang_without_all_members_waits_and_is_not_in_line() -> None:
    for members in (0, 1):
        seen = Seen(members=members)
        assert seen.waits()
        assert not in_line(seen.info)


def test_a_gang_with_a_quorum_on_nodes_does_not_wait() -> None:
    assert not Seen(members=2, bound=2).waits()
    surplus = Seen(members=3, bound=2)
    assert not surplus.refused(Reason.UNSCHEDULABLE, left_over=True).waits()


def test_a_gang_of_another_scheduler_does_not_wait_here() -> None:
    assert not Seen(members=2, scheduler="default-scheduler").waits()


def test_what_no_room_would_help_is_in_no_line() -> None:
    assert in_line(Seen(members=2).refused(Reason.WAITING_FOR_QUOTA).info)
    assert not in_line(Seen(members=2).refused(Reason.INVALID_SPEC).info)
