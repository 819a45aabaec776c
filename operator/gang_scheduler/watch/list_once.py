"""Lists each kind once, without a watch: the cluster at one moment.

It serves commands that ask once. The lists run concurrently, in pages. Forbidden lists are
reported, and only the lists of decisive kinds must succeed.
"""

from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import anyio
import msgspec

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.connection import PAGE_SECONDS, Connection
from gang_scheduler.client.errors import UNREADABLE, ApiError, Kind
from gang_scheduler.client.list_pages import Pages
from gang_scheduler.watch import list_watch
from gang_scheduler.watch.kinds import DECISIVE
from gang_scheduler.watch.known_objects import Handler, Handlers, KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.synced import ChangeCount

FORBIDDEN: Final = 403
EXPIRED: Final = 410
"""The list took so long that the server no longer has its next page."""
TRIES: Final = 3


class Unlisted(NamedTuple):
    """Kinds that could not be listed, by name: not served, or forbidden."""

    not_served: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


async def fill(
    connection: Connection, event_handlers: Handlers, page_seconds: float = PAGE_SECONDS
) -> Unlisted:
    """Store all objects of all kinds; return the kinds that could not be listed.

    Raises ApiError for an answer other than "not served" or "forbidden", and for any failed list of
    pods or nodes.
    """
    lists = _Lists(connection, event_handlers, page_seconds)
    try:
        async with anyio.create_task_group() as group:
            for handler in event_handlers.all:
                group.start_soon(lists.take_in, handler, name=f"list {handler.name}")
    except ExceptionGroup as errors:
        raise _first(errors) from errors
    return lists.unlisted()


async def bodies(
    connection: Connection,
    gvr: GVR,
    namespace: str = "",
    *,
    selector: str = "",
    page_seconds: float = PAGE_SECONDS,
) -> list[dict[str, Any]]:
    """Return the JSON of all objects of a kind in a namespace, or in all. Raises ApiError.

    `selector` is a field selector.
    """
    found = each_body(connection, gvr, namespace, selector=selector, page_seconds=page_seconds)
    return [each async for each in found]


async def each_body(
    connection: Connection,
    gvr: GVR,
    namespace: str = "",
    *,
    selector: str = "",
    page_seconds: float = PAGE_SECONDS,
) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON of each object, as `bodies` does, with one page in memory at a time."""
    pages, following = Pages(list_watch.PAGE), ""
    while True:

        def ask(limit: int, following: str = following) -> Awaitable[bytes]:
            query = f"limit={limit}&continue={following}"
            query += f"&fieldSelector={quote(selector)}" if selector else ""
            path = f"{gvr.path(namespace)}?{query}"
            return connection.request("GET", path, timeout_seconds=page_seconds)

        answer = await pages.get(ask)
        try:
            page = msgspec.json.decode(answer, type=dict[str, Any])
        except UNREADABLE as error:
            raise ApiError(0, f"no list: {error}") from error
        # Lists of some kinds give version and kind only once, for the whole list.
        kind = str(page.get("kind", "")).removesuffix("List")
        for each in page["items"] or ():
            yield {"apiVersion": gvr.api_version, "kind": kind, **each}
        following = page["metadata"].get("continue")
        if not following:
            return


class _Lists:
    """The lists of a cluster at one moment."""

    def __init__(
        self, connection: Connection, event_handlers: Handlers, page_seconds: float
    ) -> None:
        self._connection = connection
        self._event_handlers = event_handlers
        self._page_seconds = page_seconds
        self._not_served: set[str] = set()
        self._forbidden: set[str] = set()

    def unlisted(self) -> Unlisted:
        """Return the kinds that could not be listed."""
        return Unlisted(tuple(sorted(self._not_served)), tuple(sorted(self._forbidden)))

    async def take_in(self, handler: Handler) -> None:
        """Store all objects of a kind."""
        known_objects = KnownObjects(handler, self._event_handlers.versions)
        lists = ListWatch(
            *(self._connection, handler.versions, known_objects, ChangeCount()),
            page_seconds=self._page_seconds,
        )
        try:
            if not await _listed(lists):
                (self._forbidden if lists.forbidden else self._not_served).add(handler.name)
        except ApiError as error:
            if error.status != FORBIDDEN or handler.name in DECISIVE:
                raise
            self._forbidden.add(handler.name)


async def _listed(lists: ListWatch) -> bool:
    """List a kind; return whether it is served.

    Temporary failures are retried.
    """
    for left in reversed(range(TRIES)):
        try:
            return await lists.list_once()
        except ApiError as error:
            if not left or not _may_pass(error):
                raise
            await lists.pause(error)
    return False


def _may_pass(error: ApiError) -> bool:
    return error.kind is Kind.THROTTLED or error.status == EXPIRED


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    """Return the most useful error: an answer of the API server rather than a missing answer."""
    found = list(_leaves(errors))
    answered = (each for each in found if isinstance(each, ApiError) and each.status)
    return next(answered, found[0])


def _leaves(errors: ExceptionGroup[Exception]) -> Iterable[Exception]:
    for each in errors.exceptions:
        if isinstance(each, ExceptionGroup):
            yield from _leaves(each)
        else:
            yield each
