"""Wall clocks of replicas are set, forth and back."""

from tools.chaos import stepped_clock
from tools.chaos.faults.fault import CLOCKS, Fault

STEPS = (-3600.0, -120.0, -10.0, 10.0, 120.0, 3600.0)


class Step(Fault):
    """The wall clock of one replica is off by seconds to an hour, and set right later."""

    name = "clock stepped"
    seconds = (3.0, 20.0)
    takes = frozenset({CLOCKS})

    def begin(self) -> None:
        """Set it."""
        self._replica = self.site.leader_or_any(self.dice)
        offset = self.dice.choice(STEPS)
        self.detail = f"{self._replica.name} by {offset:+.0f} s"
        stepped_clock.step(self._replica.clock, offset)

    def end(self) -> None:
        """Set it right."""
        stepped_clock.step(self._replica.clock, 0.0)


FAULTS = (Step,)
