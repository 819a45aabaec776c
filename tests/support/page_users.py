"""Users of a page: tokens, what they may list, and what the page answers them."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from gang_scheduler.page.access import HOST, Door
from gang_scheduler.page.rights import Asked, Unanswered, User
from gang_scheduler.page.routes import application
from gang_scheduler.page.sign_in import ByToken
from gang_scheduler.page.sources import ClusterSource, Views
from support.pages import Browser

NODES, QUEUES, PODS = "nodes", "queues", "pods"


class Known:
    """Answers reviews from tables: users by token, and what each may list where ("": everywhere).

    `asked` and `tokens` count the questions. If `is_down`, nothing is answered.
    """

    def __init__(
        self, users: Mapping[str, str], may: Mapping[str, Collection[tuple[str, str]]]
    ) -> None:
        self.users = dict(users)
        self.rights = {name: set(each) for name, each in may.items()}
        self.asked: list[Asked] = []
        self.tokens: list[str] = []
        self.is_down = False

    def knows(self, token: str) -> bool:
        """Return whether a good token was asked about."""
        return token in self.users and token in self.tokens

    async def user_of(self, token: str) -> User | None:
        """Return the user of a token."""
        self.tokens.append(token)
        if self.is_down:
            raise Unanswered("TokenReview: no answer")
        name = self.users.get(token)
        return User(name) if name else None

    async def may(self, asked: Asked) -> bool:
        """Return whether the table has that right."""
        self.asked.append(asked)
        own = self.rights.get(asked.user.name, set())
        return (asked.resource, asked.namespace) in own or (asked.resource, "") in own


@asynccontextmanager
async def opened_for(
    source: ClusterSource, door: Door, views: Views | None = None
) -> AsyncIterator[Browser]:
    """Serve the page of a source behind a door; `views` are those that a test has a hand in."""
    server = TestServer(application(views or Views(source), door, "test"), host=HOST)
    await server.start_server()
    async with TestClient[Any, Any](server) as client:
        yield Browser(client, f"http://{HOST}:{server.port}/")


def by_token(reviews: Known, **given: Any) -> ByToken:
    """Return a door for users with tokens."""
    return ByToken(reviews, ("localhost", HOST), "test", **given)


def bearer(token: str) -> dict[str, dict[str, str]]:
    """Return the options of a request with a token."""
    return {"headers": {"Authorization": f"Bearer {token}"}}
