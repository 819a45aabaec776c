"""What each address answers, as a screen that is whole without JavaScript and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import rendering, sources
from gang_scheduler.page.access import Access
from gang_scheduler.page.restricted_views import EVERYTHING, Viewer
from gang_scheduler.page.sources import Views
from gang_scheduler.page.view import Reading, View
from support import listed_clusters
from support.followed import Followed
from support.hostile_names import HOSTILE_NAMES, source_with
from support.listed_clusters import gang, node, queue
from support.page_users import opened_for
from support.pages import Answer, opened, source_of
from support.remembered_clusters import Remembered

NODES = [node(f"node-{number}") for number in range(4)]
QUEUES = [queue("blue", 16), queue("red", 16)]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
WAITS = gang("waits", 2, queue="red", created="2026-01-01T12:30:00Z")
CLUSTER = [*NODES, *QUEUES, *RUNS, *WAITS]
SCREENS = (
    *("/", "/?as=table", "/gangs", "/gangs?text=wait&state=waiting&sort=gpu", "/gangs/team/waits"),
    *(
        "/nodes",
        "/nodes?in=-",
        "/nodes/node-2",
        "/gangs/team/podgroup/runs",
        "/queues",
        "/queues/blue",
        "/decisions",
        "/try",
    ),
)
API = {
    "/api/v1/overview": "Overview",
    "/api/v1/usage": "GpuUsage",
    "/api/v1/gangs": "GangList",
    "/api/v1/gangs?state=running": "GangList",
    "/api/v1/gangs/team/waits": "Explanation",
    "/api/v1/timelines/team/waits": "Timeline",
    "/api/v1/queues": "QueueTree",
    "/api/v1/queues/blue": "QueueTree",
    "/api/v1/cluster": "ClusterView",
    "/api/v1/nodes": "NodeMap",
    "/api/v1/nodes/node-0": "NodeView",
    "/api/v1/decisions": "DecisionList",
}


async def test_every_screen_is_there_and_names_its_json(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        for path in SCREENS:
            found = await browser.get(path)
            assert 200 == found.status, path
            assert "computed from 4 nodes and 5 pods" in found.text
            if path != "/try":
                api = found.text.partition('<a href="/api/')[2].partition('"')[0]
                of_json = await browser.get(f"/api/{api.replace('&amp;', '&')}")
                assert "application/json" in of_json.headers["Content-Type"], path


async def test_the_first_screen_says_what_waits_and_why(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        text = (await browser.get("/")).text

    assert "team/</span>waits" in text
    assert "WaitingForVictims</span> 3 pods must leave" in text
    assert 'class="figure">24<i> of 32</i>' in text
    assert '<b class="figure bad">8</b><span>GPUs idle while a gang waits' in text
    assert 'href="/queues/blue"' in text


@pytest.mark.parametrize(("path", "kind"), API.items())
async def test_documents_are_as_their_schemas_say(path: str, kind: str, tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        found = json.loads((await browser.get(path)).text)

    assert kind == found["kind"]
    listed_clusters.hold(found)


async def test_the_json_is_that_of_the_commands(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        gangs = json.loads((await browser.get("/api/v1/gangs")).text)
        queues = json.loads((await browser.get("/api/v1/queues")).text)
        cluster = json.loads((await browser.get("/api/v1/cluster")).text)

    assert listed_clusters.document("list", tmp_path, CLUSTER, "-A") == gangs
    assert listed_clusters.document("queues", tmp_path, CLUSTER) == queues
    assert listed_clusters.document("cluster", tmp_path, CLUSTER) == cluster


async def test_a_gang_is_explained_as_by_the_command(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        found = json.loads((await browser.get("/api/v1/gangs/team/waits")).text)
        text = (await browser.get("/gangs/team/waits")).text

    expected = listed_clusters.document("explain", tmp_path, CLUSTER, "team/waits")
    # The list has noted that the gang was tried, so its phase is one further.
    assert expected | {"phase": found["phase"]} == found
    assert expected["summary"] in unescaped(text)
    assert "Position" in text


async def test_names_that_are_not_there_are_not_found(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        gang_page = await browser.get("/gangs/team/wait")
        queue_page = await browser.get("/queues/bleu")
        of_json = await browser.get("/api/v1/gangs/team/wait")

    assert (404, 404, 404) == (gang_page.status, queue_page.status, of_json.status)
    assert "did you mean waits?" in gang_page.text
    assert "did you mean blue?" in queue_page.text
    assert "did you mean waits?" in json.loads(of_json.text)["error"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("waits", "/gangs/team/waits"),
        ("team/RUNS", "/gangs/team/runs"),
        ("blue", "/queues/blue"),
        ("NODE-2", "/nodes/node-2"),
        ("team", "/gangs?text=team"),
        ("<b>", "/gangs?text=%3Cb%3E"),
    ],
)
async def test_a_search_leads_to_what_has_the_name(text: str, where: str, tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        found = await browser.get("/search", params={"q": text}, allow_redirects=False)

    assert (302, where) == (found.status, found.headers["Location"])


async def test_an_answer_that_a_client_has_is_not_sent_again(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        first = await browser.get("/gangs")
        tag = {"If-None-Match": first.headers["ETag"]}
        again = await browser.get("/gangs", headers=tag)
        other = await browser.get("/queues", headers=tag)

    assert (304, "") == (again.status, again.text)
    assert 200 == other.status


async def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    many = [each for number in range(60) for each in gang(f"gang-{number:02}", 1, queue="blue")]
    async with opened(source_of(tmp_path, [*NODES, *QUEUES, *many])) as browser:
        first, second = await browser.get("/gangs"), await browser.get("/gangs?page=2")

    assert (50, 10) == (rows(first), rows(second))
    assert 'href="/gangs?page=2#gangs" rel="next"' in first.text
    assert 'href="/gangs?page=1#gangs" rel="prev"' in second.text


async def test_the_map_is_a_table_in_pages_if_the_address_says_so(tmp_path: Path) -> None:
    nodes = [node(f"node-{number:02}") for number in range(60)]
    async with opened(source_of(tmp_path, [*nodes, *RUNS])) as browser:
        whole, first = await browser.get("/"), await browser.get("/?as=table")
        second = await browser.get("/?as=table&page=2")
        alone = await browser.get("/nodes?as=table&gang=team%2Fruns")

    assert '<canvas id="map"' in whole.text
    assert 'href="/?as=table#where"' in whole.text
    assert "node-49" not in whole.text
    for each in (first, second, alone):
        assert "<canvas" not in each.text
        assert "/static/map.js" not in each.text
    assert ["node-49" in each.text for each in (first, second)] == [True, False]
    assert ["node-50" in each.text for each in (first, second)] == [False, True]
    assert 'href="/?as=table&amp;page=2#where" rel="next"' in first.text
    assert 'href="/#where"' in first.text
    assert 'href="/nodes?gang=team%2Fruns#main"' in alone.text


async def test_evictions_are_one_click_from_the_overview(tmp_path: Path) -> None:
    source = Remembered(tmp_path, CLUSTER)
    decided = {"Preempted": "by a", "Drained": "off node-0", "Scheduled": "on node-1"}
    source.events = [
        SchedulerEvent(namespace="team", name="runs", reason=reason, note=note, first=source.at)
        for reason, note in decided.items()
    ]
    async with opened(source) as browser:
        link = (await browser.get("/")).text.partition(">Evictions<")[0].rpartition('href="')[2]
        found = (await browser.get(link.partition('"')[0])).text

    shown = found.partition("<tbody>")[2]
    assert [True, True, False] == [note in shown for note in decided.values()]
    assert "2 decisions, newest first" in found
    assert " selected>Evictions</option>" in found


async def test_the_overview_says_where_there_is_room_before_what_was_decided(
    tmp_path: Path,
) -> None:
    async with opened(source_of(tmp_path, CLUSTER)) as browser:
        overview, nodes = await browser.get("/"), await browser.get("/nodes")

    assert 0 < overview.text.index("Where there is room") < overview.text.index("Last decisions")
    assert ('href="/#tree-1"' in nodes.text) == ('id="tree-1"' in overview.text)


async def test_one_of_a_kind_is_not_in_the_plural(tmp_path: Path) -> None:
    source = Remembered(tmp_path, [node("node-0"), *gang("alone", 1)])
    source.events = [
        SchedulerEvent(namespace="team", name="alone", reason="Refused", note="x", first=1)
    ]
    async with opened(source) as browser:
        for path, words in (
            ("/decisions", "1 decision, newest first"),
            ("/gangs", "1 of 1 gang:"),
            ("/nodes", "1 of 1 node,"),
        ):
            assert words in (await browser.get(path)).text


async def test_a_namespace_shows_its_own_gangs_alone(tmp_path: Path) -> None:
    others = gang("secret", 1, namespace="other", nodes=["node-3"])
    source = source_of(tmp_path, [*CLUSTER, *others], "team")
    async with opened(source) as browser:
        for path in ("/", "/gangs", "/decisions"):
            assert "secret" not in (await browser.get(path)).text


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_hostile_names_are_text(name: str, tmp_path: Path) -> None:
    async with opened(source_with(tmp_path, name)) as browser:
        screens = ["/", "/gangs", "/queues", "/nodes", rendering.queue_path(name), "/decisions"]
        screens += [rendering.node_path(name)]
        screens += [rendering.gang_path(name, each, "PodGroup") for each in (name, "waits")]
        for path in screens:
            found = await browser.get(path)
            assert 200 == found.status, path
            assert "<script>alert" not in found.text
        listed = await browser.get(f"/gangs?text={rendering.part(name[:40])}")
        tried = await browser.get("/try", params={"nodes": "1", "name": name, "queue": name})

    assert name in unescaped(listed.text)
    assert "<script>alert" not in tried.text


async def test_a_job_is_tried_and_nothing_is_made(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, [*NODES, *QUEUES, *RUNS])) as browser:
        fits = await browser.get("/try?name=small&nodes=1&gpus=8&queue=red")
        evicts = await browser.get("/try?name=big&nodes=2&gpus=8&queue=red")
        waits = await browser.get("/try?name=huge&nodes=3&gpus=8&namespace=other")
        wrong = await browser.get("/try?name=Big&nodes=0&gpus=8&time=soon")
        gangs = await browser.get("/gangs")

    assert "It would start now" in fits.text
    assert "minMember: 1" in fits.text
    assert "It would start once other pods have left" in evicts.text
    assert "It would wait" in waits.text
    assert "nodes: 0 must be a number from 1" in wrong.text
    assert "time: soon must be a duration such as" in wrong.text
    assert "minMember" not in wrong.text
    assert "small" not in gangs.text


def rows(answer: Answer) -> int:
    """Return how many gangs a screen lists."""
    return answer.text.count('<th scope="row">')


def unescaped(text: str) -> Any:
    """Return the text that a browser shows."""
    for code, letter in (
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#39;", "'"),
        ("&#34;", '"'),
        ("&amp;", "&"),
    ):
        text = text.replace(code, letter)
    return text


class Turning(Access):
    """A door at which the cluster changes while the rights of a user are asked for."""

    def __init__(self, followed: Followed) -> None:
        super().__init__()
        self._followed = followed
        self.views = Views(self)
        self.turned = False

    still = False

    def read(self) -> Reading:
        """Return the cluster."""
        self._followed.now += 1
        return Reading(self._followed.cluster.cluster(self._followed.now), events=())

    def tried(self, manifests: str) -> Cluster:
        """Try nothing."""
        # No test of this stand-in sends the form.
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing."""

    async def viewer(self, _: web.Request, seen: View) -> Viewer | None:
        """Start the gang that waits, and have it read."""
        if not self.turned:
            self.turned = True
            for body in gang("waits", 2, nodes=["node-0", "node-1"]):
                self._followed.put(body)
            while self.views.last.view is seen:
                await self.views.latest()
        return EVERYTHING


async def test_a_screen_is_of_one_view_while_the_cluster_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "LEAST_SECONDS", 0.01)
    door = Turning(Followed([*NODES, *gang("waits", 2)]))
    async with opened_for(door, door, door.views) as browser:
        await browser.get(f"/?key={door.address(browser.port).partition('key=')[2]}")
        found = await browser.get("/gangs/team/waits")

    assert door.turned
    assert "It runs" in found.text
    # The line of the list, with its nodes, is of the same view as the explanation.
    assert "Its nodes on the map" in found.text
