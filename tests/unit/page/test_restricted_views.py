"""What users with rights in one namespace see: theirs in full, and of others only numbers."""

import json
from pathlib import Path

import anyio
import pytest

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.restricted_views import (
    EVERYTHING,
    WITHHELD,
    PartialViews,
    Viewer,
    note,
    partial,
)
from gang_scheduler.page.sources import OfFiles
from gang_scheduler.page.view import Reading, View, of_reading
from gang_scheduler.page.withheld_names import Names
from support import listed_clusters
from support.listed_clusters import gang, node, queue
from support.page_users import NODES, PODS, QUEUES, Known, bearer, by_token, opened_for
from support.pages import source_of

ROOM = [node(f"machine-{number}", labels={"rack": f"r{number // 2}"}) for number in range(4)]
MINE = gang("mine", 3, namespace="red", queue="crimson", created="2026-01-01T12:10:00Z")
RUNS = gang("ran", 1, namespace="red", queue="crimson", nodes=["machine-3"])
FIRST = gang("secret", 2, namespace="blue", queue="navy", priority=10)
HOLDS = gang("stealth", 2, namespace="blue", queue="navy", nodes=["machine-0", "machine-1"])
QUEUES_OF_ALL = [queue("crimson", 8), queue("navy", 64)]
CLUSTER = [*ROOM, *QUEUES_OF_ALL, *MINE, *RUNS, *FIRST, *HOLDS]
FOREIGN = ("blue", "secret", "stealth", "navy", "machine-")
SCREENS = (
    *("/", "/gangs", "/gangs/red/mine", "/gangs/red/ran", "/queues", "/queues/crimson"),
    *("/nodes", "/decisions", "/try", "/try?name=x&namespace=red&nodes=2&gpus=8"),
    *("/gangs/red/min", "/gangs/red/blue%2Fsecret", "/search?q=secret", "/search?q=machine-0"),
    "/try?name=x&namespace=red&nodes=2&gpus=8&queue=nav",
)
DOCUMENTS = (
    *("overview", "usage", "cluster", "queues", "queues/crimson", "gangs", "gangs/red/mine"),
    *("gangs/red/ran", "timelines/red/mine", "nodes", "decisions"),
)
HIDDEN_PAGES = (
    *("/gangs/blue/secret", "/queues/navy", "/nodes/machine-0", "/api/v1/gangs/blue/stealth"),
    *("/api/v1/queues/navy", "/api/v1/nodes/machine-0", "/gangs/blue/nothing"),
    *("/api/v1/timelines/blue/secret", "/api/v1/gangs/red/blue%2Fsecret"),
)
EVENTS = [
    SchedulerEvent(
        namespace="red", name="mine", reason="Preempted", note="by blue/secret", first=1
    ),
    SchedulerEvent(namespace="red", name="mine", reason="Scheduled", note="3 members", first=2),
    SchedulerEvent(
        namespace="blue", name="secret", reason="Preempted", note="by red/mine", first=3
    ),
]


class WithEvents(OfFiles):
    """A cluster with Events."""

    def read(self) -> Reading:
        """Return the cluster with Events of both teams."""
        return super().read()._replace(events=EVENTS)


def source(directory: Path) -> WithEvents:
    made = source_of(directory, CLUSTER)
    return WithEvents(
        made.read().cluster, [str(directory / "cluster.json")], made.read().cluster.policy
    )


def known() -> Known:
    """Return two tenants and an administrator."""
    return Known(
        {"r": "ruby", "b": "bea", "a": "ada", "n": "noone", "d": "dan"},
        {
            "ruby": [(PODS, "red")],
            "bea": [(PODS, "blue")],
            "ada": [(PODS, ""), (NODES, "")],
            "dan": [(PODS, "red"), (NODES, ""), (QUEUES, "")],
        },
    )


def names_of(seen: View) -> Names:
    """Return the names of a single view."""
    names = Names()
    note(names, seen)
    return names


def view_of(directory: Path) -> View:
    return of_reading(source(directory).read())


async def test_nothing_that_a_tenant_gets_has_a_name_of_others(tmp_path: Path) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        for path in (*SCREENS, *(f"/api/v1/{each}" for each in DOCUMENTS), "/events"):
            found = await browser.get(path, **bearer("r"), allow_redirects=False)
            text = f"{found.text}{found.headers}"
            if "machine-0" in path or "secret" in path or "nav" in path:
                # What the user typed comes back.
                text = text.replace("machine-0", "").replace("secret", "")
                text = text.replace("blue/", "").replace("blue%2F", "")
            assert [] == [each for each in FOREIGN if each in text], path


async def test_a_tenant_sees_its_own_gangs_with_position_and_numbers_of_others(
    tmp_path: Path,
) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        first = (await browser.get("/", **bearer("r"))).text
        assert "of others 1 wait, 1 run" in first
        assert "ruby" in first
        found = json.loads((await browser.get("/api/v1/gangs/red/mine", **bearer("r"))).text)
        listed = json.loads((await browser.get("/api/v1/gangs", **bearer("r"))).text)

    assert ["mine", "ran"] == [each["name"] for each in listed["items"]]
    assert ["crimson"] == [each["queue"] for each in found["quota"]]
    assert ["1 node"] == found["wouldStart"][0]["nodes"]
    assert (2, 2) == (found["position"]["placeInCluster"], found["position"]["ofCluster"])
    assert found["summary"]


@pytest.mark.parametrize("path", HIDDEN_PAGES)
async def test_the_address_of_something_hidden_is_as_if_there_were_nothing(
    path: str, tmp_path: Path
) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        assert 404 == (await browser.get(path, **bearer("r"))).status
        if "nothing" not in path and "red" not in path:
            assert 200 == (await browser.get(path, **bearer("a"))).status


async def test_each_tenant_sees_its_own_and_the_administrator_all(tmp_path: Path) -> None:
    found = {}
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        for token in "rba":
            text = (await browser.get("/api/v1/gangs", **bearer(token))).text
            found[token] = {each["name"] for each in json.loads(text)["items"]}

    own, others = {"mine", "ran"}, {"secret", "stealth"}
    assert {"r": own, "b": others, "a": own | others} == found


async def test_nodes_and_queues_are_shown_to_users_who_may_list_them(tmp_path: Path) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        nodes = json.loads((await browser.get("/api/v1/nodes", **bearer("d"))).text)
        queues = json.loads((await browser.get("/api/v1/queues", **bearer("d"))).text)
        one = await browser.get("/nodes/machine-0", **bearer("d"))

    assert [f"machine-{number}" for number in range(4)] == nodes["nodes"]["names"]
    assert ["red/ran"] == [each["name"] for each in nodes["gangs"]]
    assert {"crimson", "navy"} < {each["queue"] for each in queues["items"]}
    assert "stealth" not in one.text


async def test_without_a_right_in_any_namespace_the_page_says_whom_to_ask(tmp_path: Path) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        refused = await browser.get("/", **bearer("n"))

    assert 403 == refused.status
    assert "Ask an administrator" in refused.text
    assert "red" not in refused.text.partition("<main")[2]


async def test_without_a_right_in_any_namespace_there_is_no_stream(tmp_path: Path) -> None:
    changing = source(tmp_path)
    changing.still = False
    async with opened_for(changing, by_token(known())) as browser:
        assert 200 == (await browser.get("/", **bearer("a"))).status
        with anyio.fail_after(10):
            refused = await browser.get("/events", **bearer("n"))

    assert 403 == refused.status


async def test_an_event_that_names_a_gang_of_others_is_shown_without_its_message(
    tmp_path: Path,
) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        found = json.loads((await browser.get("/api/v1/decisions", **bearer("r"))).text)
        screen = (await browser.get("/decisions", **bearer("r"))).text

    told = [(each["reason"], each["message"]) for each in found["items"]]
    assert [("Scheduled", "3 members"), ("Preempted", WITHHELD)] == told
    assert 1 == screen.count(WITHHELD)


async def test_a_job_is_tried_in_ones_own_namespaces_alone(tmp_path: Path) -> None:
    path = "/try?name=x&nodes=1&gpus=8&namespace="
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        own = (await browser.get(f"{path}red", **bearer("r"))).text
        foreign = (await browser.get(f"{path}blue", **bearer("r"))).text

    assert "It would" in own
    assert "you may not list pods there" in foreign
    assert "It would" not in foreign


def test_a_part_that_would_have_a_hidden_name_is_not_known(tmp_path: Path) -> None:
    seen = view_of(tmp_path)
    # A user with the right to nodes reads which one is short; its gang is not named.
    viewer = Viewer(frozenset({"red"}), nodes=True, queues=False)
    found = partial(seen, viewer, names_of(seen)).explained("mine", "red").document

    assert found is not None
    assert found.not_known is None or "start" not in found.not_known
    assert found.where is not None


async def test_who_may_not_list_nodes_sees_the_map_without_their_names(tmp_path: Path) -> None:
    async with opened_for(source(tmp_path), by_token(known())) as browser:
        found = json.loads((await browser.get("/api/v1/nodes", **bearer("r"))).text)
        screen = (await browser.get("/nodes", **bearer("r"))).text
        by_name = await browser.get("/api/v1/nodes?text=machine-0", **bearer("r"))

    assert found["nodes"]["names"] is None
    assert [8, 8, 0, 8] == found["nodes"]["used"]
    assert ["red/ran"] == [each["name"] for each in found["gangs"]]
    assert [[], [-1, 8], [-1, 8], [0, 8]] == sorted(found["nodes"]["gangs"])
    assert '<th scope="row">a node</th>' in screen
    assert [] == [each for each in FOREIGN if each in json.dumps(found) + screen]
    # A filter by a name does not tell which nodes there are.
    assert [] == json.loads(by_name.text)["nodes"]["all"]
    listed_clusters.hold(found)


async def test_the_map_may_be_for_those_alone_who_may_list_nodes(tmp_path: Path) -> None:
    door = by_token(known(), map_for_all=False)
    async with opened_for(source(tmp_path), door) as browser:
        document = await browser.get("/api/v1/nodes", **bearer("r"))
        screen = await browser.get("/nodes", **bearer("r"))
        admin = await browser.get("/api/v1/nodes", **bearer("a"))

    assert 404 == document.status
    assert "Not known with your rights: nodes" in screen.text
    assert 4 == len(json.loads(admin.text)["nodes"]["names"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("red/mine waits", True),
        ("blue/secret waits", False),
        ("secret-0 waits", False),
        ("it waits for secret.", False),
        ("secretly", True),
        ("machine-0: 8 free", False),
        ("in navy", False),
        ("in crimson", True),
        ("8 nvidia.com/gpu", True),
        ("12", True),
    ],
)
def test_a_text_is_shown_if_it_has_no_hidden_name(
    text: str, *, shown: bool, tmp_path: Path
) -> None:
    seen = view_of(tmp_path)
    viewer = Viewer(frozenset({"red"}), nodes=False, queues=False)

    assert shown is partial(seen, viewer, names_of(seen)).may_say(text)


def test_users_with_the_same_rights_share_what_they_see(tmp_path: Path) -> None:
    seen, views = view_of(tmp_path), PartialViews()
    viewer = Viewer(frozenset({"red"}), nodes=False, queues=False)

    assert seen is views.of(seen, EVERYTHING)
    same = Viewer(frozenset({"red"}), nodes=False, queues=False)
    assert views.of(seen, viewer) is views.of(seen, same)
    assert views.of(seen, viewer) is not views.of(view_of(tmp_path), viewer)
