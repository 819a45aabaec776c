"""A cluster that is followed by watches: its answers, and what a change costs."""

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import NODES as NODES_KIND
from gang_scheduler.api.kinds import QUEUES as QUEUES_KIND
from gang_scheduler.decode.events import KindHandler
from gang_scheduler.decode.reader import Identity
from gang_scheduler.inspection.explaining.document_fields import as_json
from gang_scheduler.inspection.live import OperatorSettings
from gang_scheduler.inspection.servers import Server
from gang_scheduler.inspection.watched import AGAIN_SECONDS, WatchedCluster
from gang_scheduler.page.restricted_views import PartialViews, Viewer
from gang_scheduler.page.view import View
from gang_scheduler.settings.policy import Policy
from support.call_counts import Calls, calls_of
from support.followed import NOW, Followed, shown
from support.listed_clusters import Body, gang, node, pod, queue

NODES = [node(f"node-{number}", labels={"rack": f"r{number // 4}"}) for number in range(8)]
RUNS = gang("runs", 3, nodes=["node-0", "node-1", "node-2"])
FULL = [*NODES, *RUNS, *gang("large", 20), *gang("larger", 40)]


def steps(chance: random.Random, followed: Followed) -> list[Callable[[], None]]:
    """Return changes of a random cluster that are possible now."""
    pods = [each for (kind, *_), each in followed.objects.items() if kind == "Pod"]
    nodes = [each for (kind, *_), each in followed.objects.items() if kind == "Node"]
    number = len(followed.objects)

    def bind() -> None:
        body = copy.deepcopy(chance.choice(pods))
        body["spec"]["nodeName"] = chance.choice(nodes)["metadata"]["name"]
        body["status"] = {"phase": "Running"}
        followed.put(body)

    def remove() -> None:
        followed.delete("Pod", chance.choice(pods)["metadata"]["name"])

    def cordon() -> None:
        body = copy.deepcopy(chance.choice(nodes))
        body["spec"] = {"unschedulable": not body.get("spec", {}).get("unschedulable", False)}
        followed.put(body)

    def move() -> None:
        body = copy.deepcopy(chance.choice(nodes))
        body["metadata"]["labels"] = {"rack": f"r{chance.randrange(3)}"}
        followed.put(body)

    def grow() -> None:
        followed.put(node(f"node-{number}", labels={"rack": "r9"}))

    def come() -> None:
        for each in gang(
            *(f"gang-{number}", chance.randrange(1, 5)),
            gpus=chance.choice([1, 8]),
            queue=chance.choice(["", "blue", "red"]),
            priority=chance.randrange(3),
        ):
            followed.put(each)

    def declare() -> None:
        followed.put(queue(chance.choice(["blue", "red"]), chance.randrange(0, 33, 8)))

    found: list[Callable[[], None]] = [grow, come, come, declare]
    return found + ([cordon, move] if nodes else []) + ([bind, remove] if pods and nodes else [])


def explained(seen: View, name: str, namespace: str) -> Body:
    """Return the explanation of a gang, but for when it was read, and how long it waits since.

    A followed cluster also knows that a gang was tried before.
    """
    document = seen.explained(name, namespace).document
    assert document is not None
    found = as_json(document)
    phase = found.get("phase")
    return {
        **found,
        "readAt": None,
        "waitsSeconds": None,
        "phase": "PreScheduling" if phase == "Scheduling" else phase,
    }


@pytest.mark.parametrize("seed", range(16))
def test_a_followed_cluster_gives_the_answers_of_one_that_is_read_now(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not a secret.
    followed = Followed([*NODES[: 2 + seed % 4], *gang("first", 2)])
    for _ in range(8):
        for _ in range(chance.randrange(3)):
            chance.choice(steps(chance, followed))()
        seen, fresh = followed.view(chance.choice([1, 1, AGAIN_SECONDS])), followed.fresh()
        assert shown(fresh) == shown(seen)
        for row in seen.rows[:2]:
            name, namespace = row.key.name, row.key.namespace
            assert explained(fresh, name, namespace) == explained(seen, name, namespace)


def cost(followed: Followed) -> Calls:
    """Return what the next view calls."""
    return calls_of(followed.view)


def test_where_nothing_has_changed_nothing_is_worked_out() -> None:
    followed = Followed(FULL)
    followed.view()
    calls = cost(followed)

    assert 0 == calls["cycle.schedule"]
    assert 0 == calls["gangs._Rows.origin"]


def test_what_changes_nothing_costs_no_decision_and_no_row() -> None:
    followed = Followed(FULL)
    followed.view()
    followed.put(followed.objects["Pod", "team", "runs-0"])
    followed.put(followed.objects["Node", "", "node-0"])
    calls = cost(followed)

    assert 0 == calls["cycle.schedule"]
    assert 0 == calls["gangs._Rows.row"]


def test_a_change_is_decided_once_and_costs_the_rows_that_it_changes() -> None:
    followed = Followed(FULL)
    followed.view()
    followed.put(pod("alone", gpus=1, node="node-7"))
    calls = cost(followed)

    assert 1 == calls["cycle.schedule"]
    # The pod is a gang of its own, and two gangs have room for fewer members.
    assert 3 == calls["gangs._Rows.row"]


def test_a_change_costs_no_search_of_the_empty_cluster_that_was_made_before() -> None:
    followed = Followed(FULL)
    followed.view()
    followed.put(pod("alone", gpus=1, node="node-7"))
    calls = cost(followed)

    assert 2 == calls["empty_cluster.EmptyCluster._would_fit"]
    assert 0 == calls["empty_cluster.EmptyCluster._finding"]


def test_decisions_are_made_anew_as_time_passes() -> None:
    followed = Followed(FULL)
    followed.view()
    calls = calls_of(lambda: followed.view(AGAIN_SECONDS))

    assert 1 == calls["cycle.schedule"]


def test_tenants_cost_no_decision() -> None:
    followed = Followed([*FULL, *gang("other", 2, namespace="foreign")])
    seen, views = followed.view(), PartialViews()
    viewers = [
        Viewer(frozenset({each}), nodes=False, queues=False) for each in ("team", "foreign", "none")
    ]
    calls = calls_of(lambda: [views.of(seen, viewer) for viewer in viewers])

    assert 0 == calls["cycle.schedule"]
    assert 0 == calls["gangs._Rows.row"]
    assert 1 == calls["withheld_names.Names.note"]


def test_what_comes_between_two_readings_changes_no_answer() -> None:
    followed = Followed(FULL)
    seen = followed.view()
    followed.delete("Pod", "runs-0")

    assert {"runs", "large", "larger"} == {row.key.name for row in seen.rows}
    assert 3 == len(seen.cluster.cache.gang_queue.infos[seen.rows[-1].key].observed.members)
    after = next(row for row in followed.view().rows if row.key.name == "runs")
    assert (3, 2) == (seen.rows[-1].bound, after.bound)


def broken(body: Body) -> Body:
    """Return a node whose capacity cannot be read."""
    found = copy.deepcopy(body)
    found["status"]["allocatable"]["cpu"] = "many"
    return found


def test_an_object_that_cannot_be_read_is_left_out_and_others_are_not() -> None:
    followed = Followed([*FULL])
    followed.view()
    followed.put(broken(NODES[7]))
    followed.put(node("node-8"))

    assert shown(followed.fresh()) == shown(followed.view())


def test_a_fault_that_one_object_triggers_costs_that_object_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followed = Followed([*FULL, queue("blue", 8), queue("red", 8)])
    followed.view()
    deleted = KindHandler._deleted

    def fail(self: KindHandler[Any], found: Identity) -> None:
        if found.name == "blue":
            raise KeyError(found.name)
        deleted(self, found)

    monkeypatch.setattr(KindHandler, "_deleted", fail)
    for name in ("blue", "red"):
        followed.delete("Queue", name, "")
    followed.put(node("node-8"))
    seen = followed.view()

    assert "/blue: KeyError" in internal_errors.problem()
    assert "node-8" in seen.cluster.cache.node_usage.table().rows
    assert {"blue"} == {"blue", "red"} & {each.name for each in seen.queues}


async def test_events_of_the_first_lists_do_not_count_as_held_back() -> None:
    connection: Any = None
    watched = WatchedCluster(Server(connection, "", 1.0), OperatorSettings(Policy()))
    nodes = next(each for each in watched._followed.handlers.all if each.name == NODES_KIND.name)
    event = {"type": "ADDED", "object": node("node-0")}
    nodes.handle(event)
    watched.is_complete = True
    first = watched.held_back
    watched.cluster(NOW)
    nodes.handle(event)

    assert (0, 1) == (first, watched.held_back)


def of_queue(change: str, quota: int, uid: str = "a") -> Body:
    """Return an event of a queue."""
    body = queue("blue", quota)
    version = {"uid": uid, "resourceVersion": str(quota)}
    return {"type": change, "object": {**body, "metadata": {**body["metadata"], **version}}}


@pytest.mark.parametrize(
    ("events", "taken"),
    [
        (["ADDED 1 a", "MODIFIED 2 a", "MODIFIED 3 a"], ["ADDED 3 a"]),
        (["MODIFIED 2 a", "MODIFIED 1 b", "MODIFIED 3 a"], ["MODIFIED 3 a", "MODIFIED 1 b"]),
        (["ADDED 1 a", "MODIFIED 2 a", "DELETED 3 a"], ["DELETED 3 a"]),
        (["MODIFIED 2 a", "ADDED 4 b", "DELETED 3 a"], ["DELETED 3 a", "ADDED 4 b"]),
        (["DELETED 3 a", "ADDED 4 b"], ["DELETED 3 a", "ADDED 4 b"]),
        (["DELETED 3 a", "ADDED 4 a", "MODIFIED 5 a"], ["DELETED 3 a", "ADDED 5 a"]),
    ],
)
def test_of_an_object_that_waits_only_the_newest_state_is_kept(
    events: list[str], taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list[str]()

    def take(_: KindHandler[Any], event: Body) -> None:
        metadata = event["object"]["metadata"]
        found.append(f"{event['type']} {metadata['resourceVersion']} {metadata['uid']}")

    monkeypatch.setattr(KindHandler, "handle", take)
    handlers = Followed().cluster.handlers
    queues = next(each for each in handlers.all if each.name == QUEUES_KIND.name)
    for each in events:
        change, version, uid = each.split()
        queues.handle(of_queue(change, int(version), uid))

    assert len(taken) == len(handlers)
    assert handlers.take_in()
    assert taken == found
    assert not handlers.take_in()


def held_back(followed: Followed) -> list[Any]:
    """Return what is kept of the events that wait."""
    return [each.source for each in followed.cluster.handlers._events]


@pytest.mark.parametrize("body", [gang("brief", 1)[1], queue("brief", 1)])
def test_of_an_object_that_is_deleted_only_its_identity_is_held_back(body: Body) -> None:
    followed = Followed()
    name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
    followed.put({**body, "metadata": {**body["metadata"], "labels": {"long": "x" * 5000}}})
    if body["kind"] == "Pod":
        # A pod that was known before, too.
        followed.view()
        followed.put(followed.objects["Pod", namespace, name])
    followed.delete(body["kind"], name, namespace)

    (kept,) = held_back(followed)
    assert len(repr(kept)) < 1000
    assert name in repr(kept)
    assert shown(Followed().view()) == shown(followed.view())


def test_who_creates_and_deletes_while_nobody_looks_costs_an_identity_each() -> None:
    followed = Followed(FULL)
    followed.view()
    for number in range(20):
        _, body = gang(f"brief-{number}", 1)
        followed.put(body)
        followed.delete("Pod", body["metadata"]["name"])

    assert 20 == len(followed.cluster.handlers)
    assert max(len(repr(each)) for each in held_back(followed)) < 1000
    assert shown(followed.fresh()) == shown(followed.view())
