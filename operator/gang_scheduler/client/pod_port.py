"""The port of pods that are asked over HTTP. `pod_http` implements it."""

from typing import NamedTuple, Protocol


class PodRequest(NamedTuple):
    """A request to the IP `host` of a pod. `id` goes along as a header; no `body`: it has none."""

    method: str
    host: str
    port: int
    path: str
    id: str
    body: bytes | None = None


class PodAnswer(NamedTuple):
    """What a pod answered: a status, and a body that is short."""

    status: int
    body: bytes = b""


class PodHttp(Protocol):
    """Asks pods: follows no redirect, knows no proxy and no credentials, and reads little."""

    async def ask(self, request: PodRequest) -> PodAnswer:
        """Return the answer. Raises OSError if none comes in time, or none that is one."""
