"""Signing in: by a token with each request, by the form, by a proxy; and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.page import sign_in
from gang_scheduler.page.sign_in import COOKIE, SESSION_SECONDS, ByProxy, Rates, Sessions
from support.listed_clusters import gang, node
from support.page_users import NODES, PODS, Known, bearer, by_token, opened_for
from support.pages import Browser, source_of

CLUSTER = [node("node-0"), *gang("llama", 1, namespace="red")]


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def known() -> Known:
    return Known({"good": "ada"}, {"ada": [(PODS, ""), (NODES, "")], "ruby": [(PODS, "red")]})


async def signed_in(browser: Browser, given: str = "good", **fields: str) -> Any:
    return await browser.ask(
        "POST", "/sign-in", data={"token": given, **fields}, allow_redirects=False
    )


def session(answer: Any) -> dict[str, Any]:
    """Return the options of a request with the session that an answer began."""
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    return {"headers": {"Cookie": cookie}, "allow_redirects": False}


@pytest.mark.parametrize("path", ["/", "/gangs?state=waiting", "/nodes/node-0"])
async def test_a_browser_without_a_session_is_led_to_the_form_and_back(
    path: str, tmp_path: Path
) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        led = await browser.get(path, allow_redirects=False)
        assert 303 == led.status
        form = await browser.get(led.headers["Location"])
        assert 200 == form.status
        assert f'value="{path}"' in form.text
        assert "llama" not in form.text
        answer = await signed_in(browser, to=path)
        assert (303, path) == (answer.status, answer.headers["Location"])
        assert 200 == (await browser.get(path, **session(answer))).status


@pytest.mark.parametrize("path", ["/api/v1/gangs", "/events"])
async def test_a_program_without_a_token_is_refused(path: str, tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        for options in ({}, bearer("bad"), {"headers": {"Cookie": f"{COOKIE}=guess"}}):
            refused = await browser.get(path, **options)
            assert (401, "Bearer") == (refused.status, refused.headers["WWW-Authenticate"])
            assert "llama" not in refused.text
        assert 200 == (await browser.get("/api/v1/gangs", **bearer("good"))).status


async def test_a_fetch_of_a_screen_without_a_session_is_refused_and_not_led_on(
    tmp_path: Path,
) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        asked = await browser.get("/", headers={"Sec-Fetch-Mode": "cors"}, allow_redirects=False)

    assert 401 == asked.status


async def test_a_wrong_token_is_reported_and_begins_nothing(tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        for token in ("bad", ""):
            answer = await signed_in(browser, token)
            assert 403 == answer.status
            assert "Set-Cookie" not in answer.headers
            assert "aria-invalid" in answer.text


async def test_the_cookie_is_for_this_page_alone_and_is_not_the_token(tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        cookie = (await signed_in(browser)).headers["Set-Cookie"]

    assert "good" not in cookie
    for word in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/", "Max-Age=28800"):
        assert word in cookie


async def test_signing_out_ends_the_session_on_the_server(tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        mine = session(await signed_in(browser))
        assert 200 == (await browser.get("/", **mine)).status
        out = await browser.ask("POST", "/sign-out", **mine)
        assert (303, "/sign-in") == (out.status, out.headers["Location"])
        assert 303 == (await browser.get("/", **mine)).status


async def test_a_session_lasts_eight_hours_at_most(tmp_path: Path) -> None:
    clock = Clock()
    door = by_token(known(), clock=clock)
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        mine = session(await signed_in(browser))
        clock.now += SESSION_SECONDS - 1
        assert 200 == (await browser.get("/", **mine)).status
        clock.now += 2
        assert 303 == (await browser.get("/", **mine)).status


async def test_a_revoked_token_is_out_with_its_session(tmp_path: Path) -> None:
    reviews = known()
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(reviews)) as browser:
        mine = session(await signed_in(browser))
        reviews.users.clear()
        assert 303 == (await browser.get("/", **mine)).status


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}],
    ids=["origin", "fetch"],
)
async def test_a_form_of_a_foreign_page_signs_nobody_in(
    headers: dict[str, str], tmp_path: Path
) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        answer = await browser.ask("POST", "/sign-in", data={"token": "good"}, headers=headers)

    assert 405 == answer.status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_all_else_only_reads(method: str, tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        for path in ("/", "/try", "/api/v1/gangs"):
            assert 405 == (await browser.ask(method, path, **bearer("good"))).status


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8090", "10.0.0.1"])
async def test_another_host_name_is_refused(host: str, tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        answer = await browser.get("/", headers={"Host": host, **bearer("good")["headers"]})

    assert 421 == answer.status


@pytest.mark.parametrize(
    "to", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", ""]
)
async def test_the_form_leads_to_no_other_host(to: str, tmp_path: Path) -> None:
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(known())) as browser:
        assert "/" == (await signed_in(browser, to=to)).headers["Location"]


async def test_while_the_api_server_is_silent_nobody_new_gets_in(tmp_path: Path) -> None:
    reviews = known()
    reviews.is_down = True
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(reviews)) as browser:
        assert 503 == (await browser.get("/", **bearer("good"))).status
        assert 503 == (await signed_in(browser)).status


async def test_a_client_is_answered_twenty_times_a_second(tmp_path: Path) -> None:
    clock = Clock()
    door = by_token(known(), clock=clock)
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        # The first token of a client is not known yet, and counts for its address.
        for _ in range(1 + 40):
            assert 200 == (await browser.get("/api/v1/gangs", **bearer("good"))).status
        assert 429 == (await browser.get("/api/v1/gangs", **bearer("good"))).status
        assert 200 == (await browser.get("/static/page.css")).status
        clock.now += 0.06
        assert 200 == (await browser.get("/api/v1/gangs", **bearer("good"))).status


async def test_guesses_are_refused_before_the_api_server_is_asked(tmp_path: Path) -> None:
    reviews = known()
    door = by_token(reviews, clock=Clock())
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        found = [(await signed_in(browser, f"guess-{each}")).status for each in range(60)]

    assert 429 in found
    assert len(reviews.tokens) <= 40


async def test_guesses_in_headers_are_those_of_one_client(tmp_path: Path) -> None:
    reviews = known()
    door = by_token(reviews, clock=Clock())
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        assert 200 == (await browser.get("/api/v1/gangs", **bearer("good"))).status
        found = [
            (await browser.get("/api/v1/gangs", **bearer(f"guess-{each}"))).status
            for each in range(60)
        ]
        # A user with a good token does not pay for them.
        assert 200 == (await browser.get("/api/v1/gangs", **bearer("good"))).status

    assert {401, 429} == {*found}
    assert len(reviews.tokens) <= 42


def proxy(monkeypatch: pytest.MonkeyPatch, shown: object) -> Callable[[Known], ByProxy]:
    monkeypatch.setattr(sign_in, "certificate_of", lambda _: shown)
    return lambda reviews: ByProxy(reviews, ("127.0.0.1",))


async def test_a_proxy_with_a_certificate_says_who_the_user_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reviews = known()
    headers = [("X-Remote-User", "ruby"), ("X-Remote-Group", "team"), ("X-Remote-Group", "all")]
    door = proxy(monkeypatch, {"subject": "proxy"})(reviews)
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        found = await browser.get("/gangs", headers=headers)
        assert 200 == found.status
        assert "llama" in found.text
        assert 401 == (await browser.get("/gangs")).status
    assert ("team", "all", "system:authenticated") == reviews.asked[0].user.groups


async def test_headers_of_a_client_without_a_certificate_count_for_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door = proxy(monkeypatch, None)(known())
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        assert 401 == (await browser.get("/gangs", headers={"X-Remote-User": "ada"})).status


async def test_names_without_a_certificate_use_up_nothing_of_their_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door = proxy(monkeypatch, None)(known())
    headers = {"X-Remote-User": "ada"}
    async with opened_for(source_of(tmp_path, CLUSTER), door) as browser:
        found = {(await browser.get("/gangs", headers=headers)).status for _ in range(60)}
        monkeypatch.setattr(sign_in, "certificate_of", lambda _: {"subject": "proxy"})
        assert 200 == (await browser.get("/gangs", headers=headers)).status

    assert 429 in found


def test_of_too_many_sessions_those_of_the_party_with_most_are_forgotten() -> None:
    sessions = Sessions(Clock(), most=3)
    own = sessions.begin("own", "ada")
    for each in range(10):
        sessions.begin(f"token-{each}", "crowd")

    assert "own" == sessions.token(own)


async def test_many_tokens_of_one_user_have_a_rate_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sign_in, "OF_PARTY_A_SECOND", 2.0)
    tokens = {f"token-{each}": "ada" for each in range(20)}
    users = Known({**tokens, "other": "bob"}, {"ada": [(PODS, "")], "bob": [(PODS, "")]})
    async with opened_for(source_of(tmp_path, CLUSTER), by_token(users, clock=Clock())) as browser:
        found = [(await browser.get("/gangs", **bearer(each))).status for each in tokens]
        other = (await browser.get("/gangs", **bearer("other"))).status

    assert ([200] * 4 + [429] * 16, 200) == (found, other)


def test_sessions_and_clients_that_are_too_many_are_forgotten() -> None:
    clock = Clock()
    sessions = Sessions(clock, most=2)
    first, *others = [sessions.begin(f"token-{each}", "ada") for each in range(3)]
    assert ["", "token-1", "token-2"] == [sessions.token(each) for each in (first, *others)]

    rates = Rates(clock, a_second=1)
    assert [True, True, False] == [rates.takes("a") for _ in range(3)]
    assert rates.takes("b")
