"""Events tell people of decisions: one an object and reason, and not again and again."""

import builders
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.events import Events
from gang_scheduler.cluster.fake import EVENTS, FakeApi
from gang_scheduler.cluster.reports import Reports
from gang_scheduler.model.gangs import Problem, Reason
from gang_scheduler.model.plan import Plan, Refused, Warned

Told = tuple[str, str, str, str]
"""Type, reason, name of the object, note."""


def unknown(layer: str) -> Problem:
    return Problem(Reason.UNKNOWN_LAYER, f'layer "{layer}" is unknown')


class Desk:
    """Reports on the PodGroup `a`. `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.api = FakeApi()
        cache = Cache([builders.SCHEDULER])
        said = builders.declaration("a")
        cache.described("scheduling.sigs.k8s.io", said.uid, [said])
        self.events = Events(self.api, clock=lambda: self.now)
        self.reports = Reports(cache, self.events)

    async def told(self, *plans: Plan) -> list[Told]:
        """Report plans, a second apart, and return the Events that come of it."""
        for plan in plans:
            self.reports.planned(plan, int(self.now))
            self.now += 1
        while not self.events._queue.empty():
            await self.events._send(*self.events._queue.get_nowait())
        return [
            (each["type"], each["reason"], each["regarding"]["name"], each["note"])
            for each in self.api.cluster.all(EVENTS)
        ]


async def test_a_warning_is_an_event_and_not_repeated() -> None:
    plan = Plan(warned=(Warned(builders.gang("a"), unknown("x")),))

    expected = [("Warning", "UnknownLayer", "a", 'layer "x" is unknown')]
    assert expected == await Desk().told(plan, plan, plan)


async def test_warnings_of_one_kind_are_one_event() -> None:
    gang = builders.gang("a")
    plan = Plan(warned=(Warned(gang, unknown("x")), Warned(gang, unknown("y"))))

    expected = [("Warning", "UnknownLayer", "a", 'layer "x" is unknown; layer "y" is unknown')]
    assert expected == await Desk().told(plan)


async def test_a_gang_that_nobody_describes_is_warned_on_its_first_pod() -> None:
    bound = builders.gang("b", pods=0, mates=[builders.pod("b-0", node="n1")])
    plan = Plan(warned=(Warned(bound, unknown("x")),))

    assert [("Warning", "UnknownLayer", "b-0", 'layer "x" is unknown')] == await Desk().told(plan)


async def test_an_unknown_layer_that_holds_a_gang_up_is_an_invalid_gang() -> None:
    waits = builders.gang("a")
    problem = unknown("x")
    plan = Plan(refused=(Refused(waits, problem.reason, waits.pending, detail=problem.message),))

    assert [("Warning", "InvalidGang", "a", problem.message)] == await Desk().told(plan)
