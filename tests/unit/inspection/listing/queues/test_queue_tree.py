"""The tree of queues: its lines and its bars."""

from dataclasses import replace

import pytest

from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import queues
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support.queue_figures import TEAM_A, TREE, queue, ref

INVALID = Problem(Reason.INVALID_SPEC, InvalidInput("spec.quota.hard is below spec.quota.soft"))
FULL = """\
QUEUE   RESOURCE  QUOTA        USED   NOMINAL BORROWED LENT FAIR SHARE SHARE RUNNING PENDING
root    cpu       [########--]   9.5  12      0        0    12         0     3       2
team-a  cpu       [#######===]   8    6       2        0    7          0.167 2       0
        memory    [##########] 1.5Gi  0       0        0    0
team-b  cpu       [###----...]   1.5  6       0        2    4.5        0     1       2
"""


def lines(*figures: QueueFigures, full: bool = True) -> list[str]:
    """Return the lines of the table of these figures."""
    cluster = Cluster(Cache(["ours"], Changes()), Policy(), 0, Source.FILES)
    found = queues.lines_of_queues(cluster, Decisions(figures=figures))
    return [*queues.queue_table(found, Page(), full=full)]


def test_the_whole_tree_has_every_resource_and_fair_shares() -> None:
    found = lines(*TREE)

    assert FULL.split() == " ".join(found).split()
    assert ["QUEUE ", "root  ", "  team", "      ", "  team"] == [line[:6] for line in found]


def test_the_tree_has_what_is_scarce() -> None:
    gpu = replace(TEAM_A, amounts={**TEAM_A.amounts, FlavorResource("default", "gpu"): Amounts(8)})

    (_, line) = lines(gpu, full=False)
    assert ["team-a", "gpu"] == line.split()[:2]


def test_a_flavor_is_named_before_its_resource() -> None:
    spot = replace(TEAM_A, amounts={FlavorResource("spot", "cpu"): Amounts(used=500)})

    assert "spot/cpu" in lines(spot)[1]


@pytest.mark.parametrize("full", [False, True])
def test_queues_in_a_cycle_are_in_the_tree_as_invalid(*, full: bool) -> None:
    a, b = QueueFigures(queue("a", ref("b")), {}), QueueFigures(queue("b", ref("a")), {})
    found = lines(*(replace(each, problem=INVALID) for each in (a, b)), full=full)

    assert [("a", "InvalidSpec"), ("b", "InvalidSpec")] == [
        (line.split()[0], line.split()[-1]) for line in found[1:]
    ]


@pytest.mark.parametrize(
    ("amounts", "bar"),
    [
        (Amounts(), "[          ]"),
        (Amounts(nominal=10), "[----------]"),
        (Amounts(nominal=10, used=4), "[####------]"),
        (Amounts(nominal=10, used=4, lent=2), "[####----..]"),
        (Amounts(nominal=8, used=10, borrowed=2), "[########==]"),
        (Amounts(nominal=1000, used=1, lent=1), "[#--------.]"),
        (Amounts(used=5, borrowed=5), "[==========]"),
    ],
)
def test_a_bar_shows_each_part(amounts: Amounts, bar: str) -> None:
    assert bar == queues.bar(amounts)
