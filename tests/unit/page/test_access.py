"""Access: by the key once, then by its session, under the page's own host name, by GET."""

from pathlib import Path

import pytest

from support.listed_clusters import node
from support.pages import Browser, opened, source_of

NODES = [node("node-0")]


def key_of(browser: Browser) -> str:
    """Return path and query of the address that was printed."""
    return browser.address.partition(str(browser.port))[2]


async def test_the_key_of_the_address_is_good_once(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, NODES), enter=False) as browser:
        assert 403 == (await browser.get("/")).status
        first = await browser.get(key_of(browser), allow_redirects=False)
        assert (303, "/") == (first.status, first.headers["Location"])
        assert "HttpOnly" in first.headers["Set-Cookie"]
        assert "SameSite=Strict" in first.headers["Set-Cookie"]
        assert 200 == (await browser.get("/")).status

        browser.client.session.cookie_jar.clear()
        assert 403 == (await browser.get(key_of(browser))).status


@pytest.mark.parametrize("path", ["/", "/gangs", "/api/v1/gangs", "/?key=guess"])
async def test_without_a_session_nothing_is_shown(path: str, tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, NODES), enter=False) as browser:
        refused = await browser.get(path)

        assert 403 == refused.status
        assert "Open the address that was printed" in refused.text
        assert "node-0" not in refused.text


async def test_a_page_of_another_name_does_not_get_in(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, NODES)) as browser:
        for host in ("evil.example", f"evil.example:{browser.port}", "127.0.0.1:1"):
            assert 421 == (await browser.get("/", headers={"Host": host})).status
        own = {"Host": f"localhost:{browser.port}"}
        assert 421 != (await browser.get("/", headers=own)).status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_but_reading_is_allowed(method: str, tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, NODES)) as browser:
        for path in ("/", "/try", "/api/v1/gangs"):
            assert 405 == (await browser.ask(method, path)).status


async def test_every_answer_forbids_what_is_not_of_the_page(tmp_path: Path) -> None:
    async with opened(source_of(tmp_path, NODES)) as browser:
        for path in ("/", "/nowhere", "/gangs/a/b", "/api/v1/gangs", "/static/page.css"):
            headers = (await browser.get(path)).headers
            policy = headers["Content-Security-Policy"]
            assert "default-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert "nosniff" == headers["X-Content-Type-Options"]
