"""The row of a gang where there are queues."""

from dataclasses import replace

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.refs import ChargedTo
from gang_scheduler.simulation.output_document import Flavors, Queued
from support import builders, gang_queue_builders

KEY = builders.gang_key("a")
TEAM_A = QueueRef(QueueKind.QUEUE, "team-a")
SPOT: Flavors = (("cpu", "spot"),)
ON_DEMAND: Flavors = (("cpu", "on-demand"),)


def queued(**flavors: Flavors) -> Queued:
    return Queued(lambda _: TEAM_A, {KEY: 2}, flavors, frozenset({KEY}))


def row(found: Queued, *members: Pod) -> dict[str, object]:
    info = gang_queue_builders.gang_info(KEY, members, [builders.gang_spec("a")])
    return found.row(info)


def member(name: str, podset: str = "") -> Pod:
    labels = {"kueue.x-k8s.io/podset": podset} if podset else {}
    return builders.pod(name, gang="a", uid=name, labels=labels)


def test_a_gang_has_its_queue_its_flavors_and_its_place() -> None:
    expected = {
        "queue": "team-a",
        "flavors": {"main": {"cpu": "spot"}},
        "borrows": True,
        "position": 2,
    }
    assert expected == row(queued(p=SPOT, q=SPOT), member("p"), member("q"))


def test_a_gang_that_is_not_charged_has_no_flavors() -> None:
    assert {} == row(queued(), member("p"))["flavors"]


def test_podsets_in_several_flavors_are_named() -> None:
    found = row(queued(p=SPOT, q=ON_DEMAND), member("p", "driver"), member("q", "workers"))

    assert {"driver": dict(SPOT), "workers": dict(ON_DEMAND)} == found["flavors"]


def test_podsets_without_names_are_numbered() -> None:
    found = row(queued(p=SPOT, q=ON_DEMAND), member("p"), member("q"))

    assert {"main": dict(SPOT), "main-2": dict(ON_DEMAND)} == found["flavors"]


def test_a_pod_that_runs_is_in_the_flavors_of_its_binding() -> None:
    running = replace(member("p"), node="n", charged_to=ChargedTo("team-a", SPOT))

    assert {"main": dict(SPOT)} == row(queued(), running)["flavors"]
