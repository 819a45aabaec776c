"""Reviews: what the API server is asked, how seldom, and what holds while it is silent."""

import asyncio
import json
from typing import Any

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.page import rights
from gang_scheduler.page.restricted_views import EVERYTHING, Viewer
from gang_scheduler.page.rights import Asked, ServerReviews, Unanswered, User, viewer_of
from support.page_users import NODES, PODS, QUEUES, Known

ADA = User("ada", ("team",), "7", '{"scopes": ["a"]}')


class Server:
    """An API server that answers reviews, and counts those that are open at once."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.error: ApiError | None = None
        self.answer: dict[str, Any] = {"allowed": True}
        self.now = 0.0
        self.open = self.most_open = 0

    def clock(self) -> float:
        """Return the time."""
        return self.now

    async def ask(self, path: str, body: bytes) -> bytes:
        """Answer a review."""
        self.sent.append((path, json.loads(body)))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        if self.error is not None:
            raise self.error
        return json.dumps({"status": self.answer}).encode()

    def reviews(self) -> ServerReviews:
        """Return the reviews of this server."""
        return ServerReviews(self.ask, self.clock)


async def test_a_token_is_reviewed_and_its_user_remembered_for_a_minute() -> None:
    server = Server()
    known = {"username": "ada", "groups": ["team"], "uid": "7", "extra": {"scopes": ["a"]}}
    server.answer = {"authenticated": True, "user": known}
    reviews = server.reviews()

    assert ADA == await reviews.user_of("token")
    assert ADA == await reviews.user_of("token")
    ((path, body),) = server.sent
    assert ("/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview", {"token": "token"}) == (
        *(path, body["kind"], body["spec"]),
    )
    server.answer, server.now = {"authenticated": False}, rights.LASTS_SECONDS
    assert await reviews.user_of("token") is None


@pytest.mark.parametrize(
    "status", [{}, {"authenticated": "true"}, {"authenticated": True}, {"user": {"username": "x"}}]
)
async def test_a_token_that_is_not_said_to_be_good_is_not(status: dict[str, Any]) -> None:
    server = Server()
    server.answer = status

    assert await server.reviews().user_of("token") is None


async def test_the_right_is_asked_for_the_user_with_all_that_is_known_of_it() -> None:
    server = Server()

    assert await server.reviews().may(Asked(ADA, "pods", "red"))
    ((path, body),) = server.sent
    assert path.endswith("/subjectaccessreviews")
    assert "authorization.k8s.io/v1" == body["apiVersion"]
    assert {
        "user": "ada",
        "groups": ["team"],
        "uid": "7",
        "extra": {"scopes": ["a"]},
        "resourceAttributes": {
            "verb": "list", "group": "", "resource": "pods", "namespace": "red",
        },
    } == body["spec"]  # fmt: skip


async def test_the_last_answer_holds_while_the_api_server_is_silent_but_not_for_ever() -> None:
    server = Server()
    reviews = server.reviews()
    assert await reviews.may(Asked(ADA, "pods"))
    server.error = ApiError(0, "refused")

    server.now = rights.UNANSWERED_SECONDS - 1
    assert await reviews.may(Asked(ADA, "pods"))
    with pytest.raises(Unanswered, match="refused"):
        await reviews.may(Asked(ADA, "nodes"))
    server.now += 1
    with pytest.raises(Unanswered, match="SubjectAccessReview"):
        await reviews.may(Asked(ADA, "pods"))


async def test_few_reviews_are_open_at_once_and_none_twice() -> None:
    server = Server()
    reviews = server.reviews()
    asked = [Asked(ADA, "pods", f"team-{each % 50}") for each in range(100)]

    assert all(await asyncio.gather(*map(reviews.may, asked)))
    assert 50 == len(server.sent)
    assert rights.MOST_AT_ONCE == server.most_open


async def test_a_user_does_not_wait_for_the_reviews_of_a_namespace_full_of_accounts() -> None:
    server = Server()
    reviews = server.reviews()
    many = [
        Asked(User(f"system:serviceaccount:crowd:robot-{each}"), "pods", f"team-{each}")
        for each in range(20 * rights.MOST_AT_ONCE)
    ]

    await asyncio.gather(*map(reviews.may, [*many, Asked(ADA, "pods")]))

    users = [body["spec"]["user"] for _, body in server.sent]
    assert users.index("ada") <= rights.MOST_AT_ONCE + 1


async def test_of_too_many_answers_those_of_the_party_with_most_are_forgotten() -> None:
    server = Server()
    reviews = server.reviews()
    reviews._rights._most = 10
    asked = Asked(ADA, "pods")
    await reviews.may(asked)
    for each in range(50):
        user = User(f"system:serviceaccount:crowd:robot-{each}")
        await reviews.may(Asked(user, "pods"))
    before = len(server.sent)

    await reviews.may(asked)
    assert before == len(server.sent)


@pytest.mark.parametrize(
    ("may", "expected"),
    [
        ([(PODS, ""), (NODES, "")], EVERYTHING),
        ([(PODS, "")], Viewer(None, nodes=False, queues=False)),
        ([(PODS, "red")], Viewer(frozenset({"red"}), nodes=False, queues=False)),
        ([(PODS, "red"), (NODES, ""), (QUEUES, "")], Viewer(frozenset({"red"}))),
        ([(NODES, "")], None),
        ([], None),
    ],
)
async def test_what_is_seen_follows_from_what_may_be_listed(
    may: list[tuple[str, str]], expected: Viewer | None
) -> None:
    reviews = Known({}, {"ada": may})

    assert expected == await viewer_of(ADA, reviews, ("red", "blue"))


async def test_the_namespace_of_a_service_account_is_asked_about_without_gangs() -> None:
    name = "system:serviceaccount:new:notebook"
    reviews = Known({}, {name: [(PODS, "new")]})

    found = await viewer_of(User(name), reviews, ())
    assert Viewer(frozenset({"new"}), nodes=False, queues=False) == found
