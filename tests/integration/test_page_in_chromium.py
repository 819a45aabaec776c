"""The page in a browser: it follows the cluster, and what the user has in hand stays."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page import rendering, sources
from gang_scheduler.page.sources import OfFiles
from gang_scheduler.page.streams import BEAT_SECONDS, Streams
from gang_scheduler.page.view import Reading
from support import accessibility
from support.chromium import Tab, chromium
from support.declared_objects import tree_body
from support.hostile_names import HOSTILE_NAMES, source_with
from support.listed_clusters import Body, gang, node, queue
from support.pages import opened, source_of

HOST = "kubernetes.io/hostname"
NODES = [node(f"node-{number}", labels={"rack": f"r{number // 4}"}) for number in range(8)]
RUNS = gang("runs", 3, queue="blue", nodes=["node-0", "node-1", "node-2"])
FIRST = [*NODES, queue("blue", 64), *RUNS, *gang("huge", 20), *gang("large", 12)]
SHIFTS = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) window.shifts += each.value;
    }).observe({ type: "layout-shift", buffered: false });
"""


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the browser is started, and its profile is read."""
    return iter(())


class Changing:
    """A source whose cluster is replaced or breaks when a test says so."""

    still = False

    def __init__(self, directory: Path, bodies: Sequence[Body]) -> None:
        self._directory = directory
        self._of_files: OfFiles
        self.broken = ""
        self.change(bodies)

    def change(self, bodies: Sequence[Body]) -> None:
        """Have these objects from now on."""
        self._of_files = source_of(self._directory, bodies)

    def read(self) -> Reading:
        """Return the cluster, or raise."""
        if self.broken:
            raise ApiError(0, self.broken)
        return self._of_files.read()

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with these."""
        return self._of_files.tried(manifests)

    def close(self) -> None:
        """Do nothing."""


@asynccontextmanager
async def page(source: Changing) -> AsyncIterator[tuple[Tab, str]]:
    """Open the page of a source in a browser."""
    async with opened(source, enter=False) as browser, chromium() as tab:
        await tab.open(browser.address)
        yield tab, browser.address.partition("/?")[0]
        assert [] == tab.errors


async def test_a_screen_follows_the_cluster_and_keeps_what_the_user_has(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, address):
        await tab.open(f"{address}/gangs")
        await tab.until("document.querySelectorAll('tr[data-key]').length === 3")
        await tab.value(
            "window.marked = document.querySelector('tr[data-key$=\"team/runs\"]');"
            "marked.querySelector('a').focus();"
            "document.body.style.minHeight = '4000px'; scrollTo(0, 40); true"
        )

        source.change([*FIRST, *gang("small", 1, created="2026-01-01T13:00:00Z")])
        await tab.until("document.querySelector('tr[data-key$=\"team/small\"]')")

        assert await tab.value("marked.isConnected && marked.contains(document.activeElement)")
        assert 40 <= await tab.value("scrollY")


async def test_a_change_is_on_screen_after_one_request(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    asked = """
        performance.getEntriesByType("resource")
          .filter((each) => each.initiatorType === "fetch")
          .map((each) => new URL(each.name).pathname)
    """
    async with page(source) as (tab, address):
        await tab.open(f"{address}/gangs")
        await tab.value("performance.clearResourceTimings(); true")
        source.change([*FIRST, *gang("small", 1)])
        await tab.until("document.querySelector('tr[data-key$=\"team/small\"]')")

        assert ["/gangs"] == await tab.value(asked)


async def test_nothing_moves_if_only_numbers_change(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, _):
        await tab.value("new Promise((done) => setTimeout(done, 1000))")
        await tab.value(SHIFTS)
        tiles = "document.getElementById('tiles').textContent"
        before = await tab.value(tiles)

        more = gang("more", 1, queue="blue", nodes=["node-3"])
        source.change([*FIRST, *more])
        await tab.until(f"{tiles} !== {before!r}")
        await tab.value("new Promise((done) => setTimeout(done, 300))")

        assert 0.01 > await tab.value("window.shifts")


async def test_what_is_selected_stays_until_it_is_no_longer_selected(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, _):
        await tab.value(
            "window.words = document.querySelector('#waiting td.wide');"
            "getSelection().selectAllChildren(words); window.chosen = getSelection().toString();"
            "true"
        )
        source.change([*NODES, queue("blue", 64), *RUNS, *gang("huge", 20)])
        await tab.until("document.getElementById('tiles').textContent.trim().startsWith('1')")

        assert await tab.value("chosen.length > 0 && getSelection().toString() === chosen")
        await tab.value("getSelection().removeAllRanges(); true")
        await tab.until("document.querySelectorAll('#waiting tr[data-key]').length === 1")


async def test_a_lost_connection_and_an_unread_cluster_are_said(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    stale = "document.getElementById('stale').textContent"
    async with page(source) as (tab, _):
        source.broken = "no route"
        await tab.until(f"{stale}.startsWith('Stale since')")
        source.broken = ""
        await tab.until(f"{stale} === ''")

        await tab.online(connected=False)
        # The stream is opened again, as by a browser that becomes visible.
        await tab.value("document.dispatchEvent(new Event('visibilitychange')); true")
        await tab.until(f"{stale}.startsWith('Connection lost at')")
        # The map, too, is asked for in vain, and stays as it was.
        await tab.value("document.dispatchEvent(new CustomEvent('fresh')); true")
        await tab.online(connected=True)
        await tab.until(f"{stale} === ''")


async def test_without_a_stream_the_browser_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Streams.__init__, "__defaults__", (0, BEAT_SECONDS))
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, _):
        source.change([*FIRST, *gang("small", 1)])
        await tab.until("document.querySelector('#waiting tr[data-key$=\"team/small\"]')")


async def test_the_map_shows_nodes_gangs_and_their_domains_by_keyboard(tmp_path: Path) -> None:
    told = "document.getElementById('map-told').textContent"
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await tab.open(f"{address}/nodes")
        await tab.until("document.getElementById('map').style.width")
        await tab.value("document.getElementById('map').focus(); true")
        await tab.press("Home")
        await tab.until(f"{told}.startsWith('node-0')")
        assert "8 of 8 GPUs used. team/runs 8" in await tab.value(told)
        assert await tab.value("location.search === '?node=node-0'")

        await tab.press("ArrowRight", "ArrowRight", "ArrowRight")
        await tab.until(f"{told}.startsWith('node-3')")
        assert "0 of 8 GPUs used" in await tab.value(told)
        await tab.press("Enter")
        await tab.until("location.pathname === '/nodes/node-3'")


TREE = """
[...document.querySelectorAll('#map-tree tbody tr')].map((row) =>
  [row.ariaLevel, row.ariaExpanded ?? '', row.querySelector('.name').innerText.trim()].join(' '))
"""
AT = "document.activeElement.dataset.key"


async def test_the_map_is_a_tree_of_rows_for_the_keyboard(tmp_path: Path) -> None:
    nodes = [
        node(f"node-{number}", labels={"rack": f"r{number // 4}", HOST: f"node-{number}"})
        for number in range(8)
    ]
    source = Changing(tmp_path, [tree_body(), *nodes, *RUNS, *gang("huge", 20)])
    async with page(source) as (tab, address):
        await tab.open(f"{address}/nodes")
        await tab.until("document.getElementById('map').style.width")
        await tab.value("document.querySelector('#map-tree summary').focus(); true")
        await tab.press("Enter")
        await tab.until("document.querySelector('#map-tree tbody tr')")
        await tab.press("Tab")
        closed = ["1 false \u25b8r0", "1 false \u25b8r1"]
        assert closed == await tab.value(TREE)
        assert "r0" == await tab.value(AT)

        await tab.press("ArrowRight", "ArrowRight", "ArrowDown")
        assert "node 1" == await tab.value(AT)
        assert ["1 true \u25ber0", "2  node-0", "2  node-1"] == (await tab.value(TREE))[:3]
        assert [] == await accessibility.violations_of(tab)
        # A change leaves the focus where it is.
        source.change([tree_body(), *nodes, *RUNS, *gang("small", 1, nodes=["node-1"])])
        await tab.until("document.activeElement.innerText.includes('team/small')")
        assert "node 1" == await tab.value(AT)

        await tab.press("ArrowLeft")
        assert "r0" == await tab.value(AT)
        await tab.press("ArrowLeft", "End")
        assert closed == await tab.value(TREE)
        assert "r1" == await tab.value(AT)
        await tab.press("Enter")
        await tab.until("location.search === '?in=r1'")


async def test_the_map_says_what_the_pointer_is_at_and_lights_a_gang(tmp_path: Path) -> None:
    told = "document.getElementById('map-told').textContent"
    colours = (
        "[...new Uint32Array(document.getElementById('map').getContext('2d')"
        ".getImageData(0, 0, document.getElementById('map').width, 20).data.buffer)]"
        ".reduce((all, each) => all.add(each), new Set()).size"
    )
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await tab.open(f"{address}/nodes?gang=team/runs")
        await tab.until("document.getElementById('map').style.width")
        await tab.until(f"{colours} > 1")
        x, y = await tab.value(
            "(() => { const { x, y } = document.getElementById('map').getBoundingClientRect();"
            " return [x + 10, y + 10]; })()"
        )
        await tab.point(x, y)
        await tab.until(f"{told}.startsWith('node-0')")
        assert 0 < await tab.value("document.querySelectorAll('#map-told a').length")
        links = "[...document.querySelectorAll('#map-told a')].map((each) => each.pathname)"
        assert ["/nodes/node-0", "/gangs/team/runs"] == await tab.value(links)


async def test_the_map_follows_the_cluster_and_keeps_its_node(tmp_path: Path) -> None:
    told = "document.getElementById('map-told').textContent"
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, address):
        await tab.open(f"{address}/nodes?node=node-3")
        await tab.until(f"{told}.startsWith('node-3: 0 of 8')")
        await tab.value(SHIFTS)
        source.change([*FIRST, *gang("small", 1, nodes=["node-3"])])
        await tab.until(f"{told}.startsWith('node-3: 8 of 8') && {told}.includes('team/small')")

        assert 0.01 > await tab.value("window.shifts")


async def test_without_javascript_every_screen_shows_its_data(tmp_path: Path) -> None:
    shown = {
        "/": "huge",
        "/?as=table": "node-7",
        "/gangs": "runs",
        "/gangs/team/runs": "node-0",
        "/queues": "blue",
        "/nodes": "node-7",
        "/nodes/node-0": "team/runs-0",
        "/decisions": "0 decisions",
        "/try": "What would happen",
    }
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await tab.ask("Emulation.setScriptExecutionDisabled", value=True)
        for path, words in shown.items():
            await tab.open(f"{address}{path}")
            assert words in await tab.value("document.querySelector('main').innerText"), path
            assert not await tab.value(
                "[...document.querySelectorAll('.map')].some((each) => each.offsetHeight)"
            ), path


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(246, 247, 249)", "rgb(18, 22, 28)"
OF_FIELDS = "document.querySelector('meta[name=color-scheme]').content"
CORNER = "[...document.getElementById('map').getContext('2d').getImageData(1, 1, 1, 1).data]"


async def prefer(tab: Tab, scheme: str) -> None:
    """Have a system that is light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.ask("Emulation.setEmulatedMedia", features=features)


async def choose(tab: Tab, scheme: str) -> None:
    """Choose colours, as a user of the switch does."""
    await tab.value(
        f"document.getElementById('scheme').value = '{scheme}';"
        "document.getElementById('scheme').dispatchEvent(new Event('change')); true"
    )


async def test_light_and_dark_can_be_chosen_and_stay(tmp_path: Path) -> None:
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await prefer(tab, "light")
        await tab.open(f"{address}/nodes")
        await tab.until("document.getElementById('map').style.width")
        assert LIGHT == await tab.value(BACKGROUND)
        light = await tab.value(CORNER)

        await choose(tab, "dark")
        assert DARK == await tab.value(BACKGROUND)
        assert "dark" == await tab.value(OF_FIELDS)
        assert light != await tab.value(CORNER), "the map is drawn anew"
        assert [] == await accessibility.violations_of(tab, accessibility.OF_COLOURS)

        await tab.open(f"{address}/gangs")
        assert [DARK, "dark"] == [
            await tab.value(BACKGROUND),
            await tab.value("document.getElementById('scheme').value"),
        ]
        await prefer(tab, "dark")
        await choose(tab, "light")
        assert LIGHT == await tab.value(BACKGROUND)
        await choose(tab, "")
        assert DARK == await tab.value(BACKGROUND)
        await prefer(tab, "light")
        assert LIGHT == await tab.value(BACKGROUND)


async def test_chosen_colours_are_there_before_anything_is_painted(tmp_path: Path) -> None:
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await prefer(tab, "light")
        await choose(tab, "dark")
        await tab.open(f"{address}/gangs")
        await tab.until("performance.getEntriesByName('first-paint').length")
        assert await tab.value(
            "performance.getEntriesByName('first-paint')[0].startTime"
            " > performance.getEntriesByName(location.origin + '/static/scheme.js')[0].responseEnd"
        )


async def test_the_overview_has_its_map_as_a_table_and_back(tmp_path: Path) -> None:
    source = Changing(tmp_path, FIRST)
    rows = "[...document.querySelectorAll('#where tr[data-key]')].map((row) => row.dataset.key)"
    async with page(source) as (tab, _):
        await tab.value("document.querySelector('#where .forms a').click(); true")
        await tab.until("location.search === '?as=table' && document.readyState === 'complete'")
        assert [f"node-{number}" for number in range(8)] == await tab.value(rows)
        assert await tab.value("document.querySelector('canvas') === null")
        assert [] == await accessibility.violations_of(tab)

        source.change([*FIRST, *gang("small", 1, nodes=["node-5"])])
        await tab.until("document.querySelector('#where').innerText.includes('team/small')")
        await tab.value("document.querySelector('#where .forms a').click(); true")
        await tab.until("location.search === '' && document.getElementById('map')?.style.width")


LOADED = "performance.getEntries().map((each) => each.name).filter((name) => name.includes('://'))"
IS_OPEN = "document.getElementById('keys').open"


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/gangs", "/gangs/team/huge", "/queues", "/queues/blue", "/nodes"),
        *("/nodes/node-0", "/decisions", "/try?name=x&nodes=1&gpus=8", "/gangs/team/nothing"),
    ],
)
async def test_no_screen_asks_any_other_host(path: str, tmp_path: Path) -> None:
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await tab.open(f"{address}{path}")
        await tab.until(f"{LOADED}.some((name) => name.endsWith('/static/times.js'))")
        loaded = await tab.value(LOADED)

    assert [] == [name for name in loaded if not name.startswith(f"{address}/")]


async def test_a_question_mark_shows_all_keys(tmp_path: Path) -> None:
    async with page(Changing(tmp_path, FIRST)) as (tab, address):
        await tab.open(f"{address}/gangs")
        await tab.press("?")
        await tab.until(IS_OPEN)
        assert [] == await accessibility.violations_of(tab)
        await tab.press("Escape")
        await tab.until(f"!{IS_OPEN}")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_hostile_names_are_text_also_where_scripts_write_them(
    name: str, tmp_path: Path
) -> None:
    told, rows = "document.getElementById('map-told')", "document.querySelector('#map-tree tbody')"
    async with opened(source_with(tmp_path, name), enter=False) as browser, chromium() as tab:
        await tab.open(browser.address)
        await tab.ask(
            "Emulation.setDeviceMetricsOverride",
            width=360, height=800, deviceScaleFactor=1, mobile=True,
        )  # fmt: skip
        address = browser.address.partition("/?")[0]
        await tab.open(f"{address}/nodes?node={rendering.part(name)}")
        await tab.until("document.getElementById('map').style.width")
        await tab.value("document.getElementById('map-tree').open = true; true")
        await tab.until(f"{rows}.children.length")

        assert name in await tab.value(f"{told}.textContent")
        assert name in await tab.value(f"{rows}.textContent")
        assert await tab.value("document.querySelector('main script') === null")
        assert await tab.value("document.documentElement.scrollWidth <= innerWidth")
        await tab.value(f"document.getElementById('q').value = {json.dumps(name)}; true")
        await tab.value("document.querySelector('.search').submit(); true")
        await tab.until("location.pathname !== '/nodes' && document.readyState === 'complete'")
        assert name in await tab.value("document.querySelector('main').textContent")
        assert await tab.value("document.documentElement.scrollWidth <= innerWidth")
        assert [] == tab.errors


UPDATES = 25
"""So many updates are one half; the heap after the second is compared with that after the first."""
MOST_GROWTH = 1.2


async def heap(tab: Tab) -> float:
    """Return the bytes of the heap of a tab that are in use, without garbage."""
    await tab.ask("HeapProfiler.collectGarbage")
    found: float = (await tab.ask("Runtime.getHeapUsage"))["usedSize"]
    return found


@pytest.mark.parametrize("path", ["/", "/nodes"])
async def test_a_tab_that_is_open_for_long_does_not_grow(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LEAST_SECONDS", 0.02)
    source = Changing(tmp_path, FIRST)
    async with page(source) as (tab, address):
        await tab.open(f"{address}{path}")
        await tab.until("document.getElementById('map').style.width")
        await tab.value("document.getElementById('map-tree').open = true; true")
        used = []
        for number in range(2 * UPDATES):
            name = f"gang-{number}"
            source.change([*FIRST, *gang(name, 5, nodes=[f"node-{each}" for each in range(3, 8)])])
            await tab.until(f"document.body.innerText.includes('team/{name}')")
            if number % UPDATES == UPDATES - 1:
                used.append(await heap(tab))

    assert used[1] < MOST_GROWTH * used[0]
