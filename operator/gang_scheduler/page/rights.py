"""Names and rights of users: asked of the API server, and remembered for a minute.

A TokenReview names the user of a token, a SubjectAccessReview says whether it may list objects.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from gang_scheduler.client.errors import ApiError
from gang_scheduler.page.restricted_views import EVERYTHING, Viewer
from gang_scheduler.round_robin import ByNamespace, Slots, namespace_of_account, party_of

LASTS_SECONDS: Final = 60.0
"""An answer of the API server counts for this long."""
UNANSWERED_SECONDS: Final = 600.0
"""While the API server does not answer, its last answer counts for this long."""
MOST_AT_ONCE: Final = 16
MOST_KEPT: Final = 20_000
TIMEOUT_SECONDS: Final = 10.0
IDENTITY_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
UNKNOWN: Final = ""
"""The party of all users that are not known yet."""
QUEUES: Final = ("py-gang-scheduler.io", "queues")

WITHOUT_RIGHTS: Final = (
    "you may not list the pods of any namespace. Ask an administrator for the ClusterRole view in "
    "a namespace"
)
Ask = Callable[[str, bytes], Awaitable[bytes]]
"""Sends a review to a path of the API server, and returns the answer. Raises ApiError."""


class User(NamedTuple):
    """A user as the API server knows it; `extra` is JSON."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: str = "{}"


class Asked(NamedTuple):
    """The question whether a user may list objects, in a namespace or, if it is "", in all."""

    user: User
    resource: str
    namespace: str = ""
    group: str = ""


class Unanswered(Exception):  # noqa: N818 - named after the problem.
    """The API server did not say the name or a right of a user; the text says why."""


class Reviews(Protocol):
    """Answers questions about users. Raises Unanswered."""

    def knows(self, token: str) -> bool:
        """Return whether a token was good when it was last asked about."""

    async def user_of(self, token: str) -> User | None:
        """Return the user of a token; None for a token that is not good."""

    async def may(self, asked: Asked) -> bool:
        """Return whether a user may list objects."""


class ServerReviews:
    """Asks an API server, a few questions at once. Parties take turns."""

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._at_once = Slots(MOST_AT_ONCE)
        self._users = Remembered[bytes, User | None](clock)
        self._rights = Remembered[Asked, bool](clock)

    def knows(self, token: str) -> bool:
        """Return whether a token was good when it was last asked about."""
        return self._users.last(_key(token)) is not None

    async def user_of(self, token: str) -> User | None:
        """Return the user of a token; None for a token that is not good."""
        return await self._users.get(_key(token), lambda: self._reviewed(token), _party_of_known)

    async def may(self, asked: Asked) -> bool:
        """Return whether a user may list objects."""
        party = party_of(asked.user.name)
        return await self._rights.get(asked, lambda: self._allowed(asked, party), lambda _: party)

    async def _reviewed(self, token: str) -> User | None:
        status = await self._status(IDENTITY_REVIEWS, "TokenReview", {"token": token}, UNKNOWN)
        known = status.get("user") or {}
        if status.get("authenticated") is not True or not known.get("username"):
            return None
        return User(
            known["username"],
            tuple(known.get("groups") or ()),
            known.get("uid") or "",
            json.dumps(known.get("extra") or {}, sort_keys=True),
        )

    async def _allowed(self, asked: Asked, party: str) -> bool:
        user = asked.user
        spec = {
            "user": user.name,
            "groups": list(user.groups),
            "uid": user.uid,
            "extra": json.loads(user.extra),
            "resourceAttributes": {
                "verb": "list",
                "group": asked.group,
                "resource": asked.resource,
                "namespace": asked.namespace,
            },
        }
        status = await self._status(ACCESS_REVIEWS, "SubjectAccessReview", spec, party)
        return status.get("allowed") is True

    async def _status(
        self, path: str, kind: str, spec: Mapping[str, Any], party: str
    ) -> Mapping[str, Any]:
        version = path.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        try:
            async with self._at_once.of(party):
                answer = await self._ask(path, json.dumps(body).encode())
            status: Mapping[str, Any] = json.loads(answer)["status"]
        except ApiError as error:
            raise Unanswered(f"{kind}: {error.message}") from None
        except (ValueError, KeyError) as error:
            raise Unanswered(f"{kind}: the answer cannot be read: {error!r}") from None
        return status


Key = TypeVar("Key")
Answer = TypeVar("Answer")


class Remembered(Generic[Key, Answer]):
    """Answers that count for a minute; each question is asked once at a time.

    If there are too many, the party with most loses its oldest ones.
    """

    def __init__(self, clock: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._clock = clock
        self._most = most
        self._known: ByNamespace[Key, tuple[float, Answer]] = ByNamespace()
        self._asking: dict[Key, asyncio.Task[Answer]] = {}

    def last(self, key: Key) -> Answer | None:
        """Return the last answer, however old; None without one."""
        known = self._known.get(key)
        return known[1] if known is not None else None

    async def get(
        self, key: Key, ask: Callable[[], Awaitable[Answer]], party: Callable[[Answer], str]
    ) -> Answer:
        """Return the known answer, or ask for it. Raises Unanswered.

        `party` returns the party to which an answer counts.
        """
        known = self._known.get(key)
        if known is not None and self._clock() - known[0] < LASTS_SECONDS:
            return known[1]
        try:
            return await self._asked(key, ask, party)
        except Unanswered:
            if known is None or self._clock() - known[0] >= UNANSWERED_SECONDS:
                raise
            return known[1]

    async def _asked(
        self, key: Key, ask: Callable[[], Awaitable[Answer]], party: Callable[[Answer], str]
    ) -> Answer:
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.ensure_future(self._answered(key, ask, party))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # A client that leaves does not end a question that others wait for.
        await asyncio.wait({task})
        return task.result()

    async def _answered(
        self, key: Key, ask: Callable[[], Awaitable[Answer]], party: Callable[[Answer], str]
    ) -> Answer:
        answer = await ask()
        self._known.discard(key)
        self._known.put(party(answer), key, (self._clock(), answer))
        while len(self._known) > self._most:
            self._known.drop()
        return answer


def _key(token: str) -> bytes:
    # The hash, so that a picture of the memory has fewer tokens.
    return hashlib.sha256(token.encode()).digest()


async def viewer_of(user: User, reviews: Reviews, namespaces: Collection[str]) -> Viewer | None:
    """Return the rights of a user with pods in some of these namespaces; None if it has none."""

    def may(resource: str, namespace: str = "", group: str = "") -> Awaitable[bool]:
        return reviews.may(Asked(user, resource, namespace, group))

    pods, nodes, queues = await asyncio.gather(
        may("pods"), may("nodes"), may(QUEUES[1], group=QUEUES[0])
    )
    if pods and nodes:
        return EVERYTHING
    if pods:
        return Viewer(None, nodes=False, queues=queues)
    asked = sorted({*namespaces, *_own_namespaces(user)})
    allowed = await asyncio.gather(*(may("pods", each) for each in asked))
    found = frozenset(each for each, yes in zip(asked, allowed, strict=True) if yes)
    return Viewer(found, nodes, queues) if found else None


def _own_namespaces(user: User) -> Iterable[str]:
    """Return the namespace of a ServiceAccount, which may have no gangs yet; none of others."""
    return filter(None, [namespace_of_account(user.name)])


def _party_of_known(user: User | None) -> str:
    return UNKNOWN if user is None else party_of(user.name)
