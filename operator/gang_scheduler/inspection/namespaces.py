"""The namespaces of a cluster, and the error for a namespace that does not exist."""

from typing import TYPE_CHECKING, Final

from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.state.cache import Cache

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

_NOT_FOUND: Final = 404


class NoSuchNamespace(Exception):  # noqa: N818 - named after the problem, like InvalidField
    """The namespace does not exist. `known` are the names of the existing ones."""

    def __init__(self, name: str, known: frozenset[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known


def known(cache: Cache) -> frozenset[str]:
    """Return the names of all namespaces that were read, or that an object that was read is in."""
    declared = cache.selector_matches.namespaces.names
    pods = {pod.namespace for pod in cache.pods()}
    return frozenset({*declared, *pods, *(key.namespace for key in cache.gang_queue.infos)})


async def must_be_there(server: "Server", name: str, cache: Cache) -> None:
    """Raise NoSuchNamespace if the namespace does not exist.

    The server is asked if the cache has no object in the namespace. If the server cannot tell, the
    namespace is accepted.
    """
    # Here, since files need no Kubernetes client.
    from gang_scheduler.client.errors import ApiError  # noqa: PLC0415

    among = known(cache)
    if name in among:
        return
    try:
        await server.connection.request(
            "GET", NAMESPACES.path(name=name), timeout_seconds=server.request_seconds
        )
    except ApiError as error:
        if error.status == _NOT_FOUND:
            raise NoSuchNamespace(name, among) from error
