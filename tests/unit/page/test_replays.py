"""The map of a replay, without the script: each time has a screen."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.page import replays
from gang_scheduler.page.access import Access
from gang_scheduler.replay import side_by_side
from gang_scheduler.replay.moves import Moves, OnMap
from gang_scheduler.replay.run import Rules
from support import replays as played

ROWS = ("a,0,100,2,8", "<b>,10,50,1,8", "c,20,10,1,4")


def moved() -> Moves:
    trace = played.trace(*ROWS)
    found = side_by_side.replayed(
        trace, played.scenario(trace), Rules(), lambda _: None, with_moves=True
    )
    assert found.moves is not None
    return found.moves


async def answers(*paths: str, shown: Moves | None = None) -> list[str]:
    """Return what the page answers, after the first visit with the key."""
    access = Access()
    application = replays.application(shown or moved(), access, "week.json")
    async with TestClient(TestServer(application)) as client:
        port = client.port
        assert port is not None
        host = {"Host": f"127.0.0.1:{port}"}
        key = access.address(port).partition("?")[2]
        (await client.get(f"/?{key}", headers=host)).close()
        texts = []
        for path in paths:
            async with client.get(path, headers=host) as answer:
                assert 200 == answer.status, path
                texts.append(await answer.text())
        return texts


async def test_each_time_has_a_screen() -> None:
    begin, middle, end = await answers("/?at=0", "/?at=50", "/?at=99999999999")

    assert '<span id="used">16</span><i> of 16</i>' in begin
    assert "No gang waits." in begin
    assert "day 1, 0:00:50" in middle
    assert ["default/&lt;b&gt;", "default/c"] == re.findall(r'class="name">([^<]+)</th>', middle)
    assert "node-0: 8 of 8 GPUs; default/a" in middle
    assert 'value="150"' in end
    assert '<span id="used">0</span>' in end


@pytest.mark.parametrize("at", ["-1", "x", "", "9" * 30, "²"])
async def test_a_time_that_is_none_is_the_begin(at: str) -> None:
    (text,) = await answers(f"/?at={at}")

    assert 'value="0"' in text


async def test_squares_have_the_hue_of_their_gang() -> None:
    (text,) = await answers("/?at=105")
    nodes = re.findall(r'<svg id="node-\d+".*?</svg>', text)

    assert [8, 8] == [each.count("<rect") for each in nodes]
    assert [8, 4] == [each.count("hue-") for each in nodes]


@pytest.mark.parametrize(
    ("number", "drawn"), [(replays.MANY, "map"), (replays.MANY + 1, "map many")]
)
async def test_many_nodes_are_drawn_smaller(number: int, drawn: str) -> None:
    nodes = tuple(
        OnMap(name=f"n{each}", amount=8, domain=f"r{each // 16}") for each in range(number)
    )
    (text,) = await answers("/", shown=msgspec.structs.replace(moved(), nodes=nodes))

    assert f'class="{drawn}"' in text
    assert len(text) < 1000 * number


async def test_the_script_gets_all_moves() -> None:
    found = json.loads((await answers("/moves.json"))[0])

    assert [["default/a", "", 8], ["default/<b>", "", 8], ["default/c", "", 4]] == found["jobs"]
    assert [0, 0] == found["moves"][0][:2]
    assert (150, "GPUs", None) == (found["end"], found["unit"], found["begin"])


async def test_what_the_screen_loads_is_there() -> None:
    (text,) = await answers("/")
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)

    assert all(await answers(*loaded))
    assert "style=" not in text
    assert not re.search(r"<script(?! type=\"module\" src=)", text)


def test_a_bad_file_is_an_error(tmp_path: Path) -> None:
    bad = tmp_path / "m.json"
    bad.write_text("{}")
    for path, problem in ((bad, "is no file that replay --moves wrote"), (tmp_path / "none", "")):
        done = CliRunner().invoke(main, ["page", "--replay", str(path)])
        assert 2 == done.exit_code
        assert f"--replay: {path}: " in done.output
        assert problem in done.output
