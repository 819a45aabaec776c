"""Replays of a few jobs, as tests write them."""

from collections.abc import Sequence

from gang_scheduler.replay import reading, side_by_side
from gang_scheduler.replay.jobs import Trace
from gang_scheduler.replay.measures import Life
from gang_scheduler.replay.run import Replay, Rules
from gang_scheduler.replay.scenarios import Clusters, Given, Scenario


def trace(*rows: str, header: str = "name,submit,duration,pods,gpu") -> Trace:
    """Return the jobs of rows of CSV."""
    return reading.of_text("jobs.csv", "\n".join([header, *rows]), {})


def scenario(given: Trace, nodes: str = "2x8", policy: str = "as-is") -> Scenario:
    """Return the cluster with made nodes and one policy."""
    return Clusters(Given(nodes=nodes, policies=[policy])).scenarios(given)[0]


class Played:
    """A replay that has ended. Times are seconds since the begin."""

    def __init__(self, given: Trace, made: Scenario, rules: Rules | None = None) -> None:
        found = side_by_side.made_of(given, made, rules or Rules(), lambda _: None)
        self.replay: Replay = found.replay
        self.replay.log = []
        self.replay.run()
        self.replay.close()
        self._begin = given.begin

    def life(self, name: str) -> Life:
        """Return what became of a job."""
        return self.replay.measures.lives[f"default/{name}"]

    def runs(self, name: str) -> list[tuple[int, int]]:
        """Return when a job began and stopped."""
        return [(start - self._begin, end - self._begin) for start, end in self.life(name).runs]

    def work(self) -> tuple[float, float]:
        """Return the GPU seconds that were used, and those that were done, lost or still run."""
        totals = self.replay.measures.totals
        lost = totals.lost_to_evictions + totals.lost_to_failures
        return totals.used, totals.done + lost + totals.running


def played(
    rows: Sequence[str],
    nodes: str = "2x8",
    policy: str = "as-is",
    header: str = "name,submit,duration,pods,gpu",
    rules: Rules | None = None,
) -> Played:
    """Return the replay of rows of CSV."""
    given = trace(*rows, header=header)
    return Played(given, scenario(given, nodes, policy), rules)
