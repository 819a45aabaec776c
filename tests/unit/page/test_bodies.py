"""Bodies of answers: kept while the view stays, compressed for clients that can read that."""

from pathlib import Path

import pytest

from gang_scheduler.page import bodies, rendering, view
from gang_scheduler.page.bodies import HTML_TYPE, LEAST_PACKED, Bodies
from gang_scheduler.page.sources import Seen
from gang_scheduler.page.view import View
from support.listed_clusters import gang, node
from support.pages import opened, source_of

SHORT = bodies.body("short", HTML_TYPE)
LONG = bodies.body("long " * LEAST_PACKED, HTML_TYPE)


def view_in(directory: Path) -> View:
    """Return a view."""
    return view.of_reading(source_of(directory, [node("node-0")]).read())


def test_a_body_is_kept_until_the_view_or_its_problem_changes(tmp_path: Path) -> None:
    seen = Seen(view_in(tmp_path))
    bodies = Bodies()
    bodies.keep(seen, "/", SHORT)

    assert SHORT == bodies.get(seen, "/")
    assert bodies.get(seen, "/gangs") is None
    assert bodies.get(seen._replace(problem="no route"), "/") is None
    assert bodies.get(Seen(view_in(tmp_path)), "/") is None


def test_kept_bodies_have_a_limit(tmp_path: Path) -> None:
    seen = Seen(view_in(tmp_path))
    bodies = Bodies(most_bytes=12)
    for number in range(5):
        bodies.keep(seen, f"/{number}", SHORT)
    assert [None, None, None, None, SHORT] == [bodies.get(seen, f"/{each}") for each in range(5)]

    bodies.keep(seen, "/long", LONG)
    assert bodies.get(seen, "/long") is None


async def test_a_screen_is_rendered_once_for_all_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(source_of(tmp_path, [node("node-0")])) as browser:
        first = await browser.get("/queues")
        rendered, render = list[str](), rendering.render

        def counted(template: str, **given: object) -> str:
            rendered.append(template)
            return render(template, **given)

        monkeypatch.setattr(rendering, "render", counted)
        again = [await browser.get("/queues") for _ in range(3)]
        await browser.get("/queues?other")

    assert {first.text} == {each.text for each in again}
    assert ["queues.html"] == rendered


async def test_a_long_body_is_compressed_if_the_client_can_read_that(tmp_path: Path) -> None:
    many = [each for number in range(9) for each in gang(f"gang-{number}", 1)]
    async with opened(source_of(tmp_path, [node("node-0"), *many])) as browser:
        packed = await browser.get("/", headers={"Accept-Encoding": "gzip"})
        plain = await browser.get("/", headers={"Accept-Encoding": "identity"})

    assert "gzip" == packed.headers["Content-Encoding"]
    assert "Content-Encoding" not in plain.headers
    assert packed.text == plain.text
    assert "Accept-Encoding" == packed.headers["Vary"]


async def test_styles_and_scripts_come_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {each.name: each.read_text() for each in rendering.STATIC.iterdir()}
    async with opened(source_of(tmp_path, [node("node-0")])) as browser:
        opens = list[Path]()
        monkeypatch.setattr(Path, "open", lambda path, *_, **__: opens.append(path))
        found = {name: await browser.get(f"/static/{name}") for name in files}
        known = {"If-None-Match": found["page.css"].headers["ETag"]}
        again = await browser.get("/static/page.css", headers=known)
        absent = await browser.get("/static/absent.css")

    assert [] == opens
    assert files == {name: each.text for name, each in found.items()}
    assert {"text/css", "text/javascript", "image/svg+xml"} == {
        each.headers["Content-Type"].removesuffix("; charset=utf-8") for each in found.values()
    }
    assert (304, "") == (again.status, again.text)
    assert 404 == absent.status
