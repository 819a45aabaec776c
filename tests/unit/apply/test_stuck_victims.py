"""A pod that does not terminate in time is reported once, to the gang that waits for its room."""

from dataclasses import replace

from gang_scheduler.apply.outcomes import Outcomes, VictimStuck
from gang_scheduler.apply.stuck_victims import StuckVictims
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders
from support.metric_values import sample

GONE_BY = 1000
TIMEOUT = 60


def leaving(name: str, node: str) -> Pod:
    return builders.pod(name, node=node, phase="Running", deleting=True, gone_by=GONE_BY)


class Vigil:
    """A gang that waits for the room of a terminating pod on n1. `now` is in seconds."""

    def __init__(self, *others: Pod) -> None:
        self.now = GONE_BY
        self.told: list[tuple[str, str]] = []
        self.cache = Cache([builders.SCHEDULER], Changes())
        waiting = builders.pod("a-0", gang="a", nominated="n1")
        for each in (waiting, leaving("low", "n1"), *others):
            self.cache.upsert_pod(each)
        gang = builders.gang("a", members=[waiting])
        refused = Refused(gang, Reason.WAITING_FOR_VICTIMS, gang.pending)
        self.cache.decisions.refused(refused, self.now)
        self._outcomes = Outcomes()
        self.stuck_victims = StuckVictims(self.cache, TIMEOUT, self._outcomes, lambda: self.now)

    def look(self, now: int) -> list[tuple[str, str]]:
        """Return all that was told until a moment."""
        self.now = now
        self.stuck_victims.look()
        stuck = (each for each in self._outcomes.take_all() if isinstance(each, VictimStuck))
        self.told += [(str(each.gang), each.victim.name) for each in stuck]
        return self.told


def test_a_pod_is_given_time_beyond_its_grace_period() -> None:
    assert [] == Vigil().look(GONE_BY + TIMEOUT - 1)


def test_a_pod_that_hangs_is_reported_once() -> None:
    vigil = Vigil()

    for late in range(3):
        vigil.look(GONE_BY + TIMEOUT + late)

    assert [("default/a", "low")] == vigil.told


def test_a_pod_that_leaves_later_than_gangs_wait_for_is_reported_at_once() -> None:
    vigil = Vigil()
    vigil.cache.upsert_pod(replace(leaving("low", "n1"), gone_by=GONE_BY + 10**8))

    assert [("default/a", "low")] == vigil.look(GONE_BY)


def test_only_victims_that_are_waited_for_matter() -> None:
    staying = builders.pod("staying", node="n1", phase="Running")
    vigil = Vigil(leaving("other", "n2"), staying)

    assert [("default/a", "low")] == vigil.look(GONE_BY + TIMEOUT)


def test_a_pod_that_hangs_is_counted_until_it_is_gone() -> None:
    vigil = Vigil()
    vigil.look(GONE_BY + TIMEOUT)
    gang = builders.gang("a", members=[builders.pod("a-0", gang="a")])
    vigil.cache.decisions.refused(Refused(gang, Reason.UNSCHEDULABLE, gang.pending), vigil.now)

    vigil.look(GONE_BY + TIMEOUT + 1)
    assert 1 == sample("pgs_victims_lingering")
    vigil.cache.delete_pod("uid-low")
    vigil.look(GONE_BY + TIMEOUT + 2)
    assert 0 == sample("pgs_victims_lingering")


def test_no_pod_is_looked_at_while_no_gang_waits() -> None:
    vigil = Vigil()
    vigil.cache.delete_pod("uid-a-0")

    assert [] == vigil.look(GONE_BY + TIMEOUT)
