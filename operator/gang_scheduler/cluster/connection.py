"""How to reach the API server: from the pod's ServiceAccount or a kubeconfig.

Loading is kubernetes_asyncio's, with everything a kubeconfig can say (exec plugins too). Requests
go over one plain aiohttp session: its typed client costs three times the CPU a binding, and
reports a successful binding as an error (kubernetes-client/python#547).
"""

import base64
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
import orjson
from kubernetes_asyncio import config
from kubernetes_asyncio.client import Configuration

from gang_scheduler.cluster.errors import ApiError

CONNECT_SECONDS = 10
REQUEST_SECONDS = 30
KEEP_SECONDS = 60
"""How long an idle connection is kept: the next gang need not shake hands. The API server would
keep it for 90 s."""
TOKEN_SECONDS = 60
"""Projected ServiceAccount tokens are replaced on disk long before they end: read once a minute."""


async def load(kubeconfig: str) -> Configuration:
    """Return the configuration of the named file, else in-cluster, else of the usual file."""
    configuration = Configuration()
    if kubeconfig:
        await config.load_kube_config(kubeconfig, client_configuration=configuration)
        return configuration
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # their annotations lack this one
    except config.ConfigException:
        await config.load_kube_config(client_configuration=configuration)
    return configuration


@dataclass
class Connection:
    """One session to one API server. Use as an async context manager."""

    configuration: Configuration
    limit: int = 100
    _session: aiohttp.ClientSession | None = None
    _token: str = ""
    _token_read_at: float = field(default=float("-inf"))

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            limit=self.limit, ssl=self._ssl_context(), keepalive_timeout=KEEP_SECONDS
        )
        # To pack a long list takes the API server longer than to send it as it is.
        headers = {"Accept-Encoding": "identity"}
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The open session."""
        if self._session is None:
            raise RuntimeError("the connection is not open")
        return self._session

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return str(self.configuration.host)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        accept: str = "application/json",
        timeout_seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """Return the body of a successful answer. Raises ApiError for every other outcome."""
        headers = {"Content-Type": content_type, "Accept": accept}
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, connect=CONNECT_SECONDS)
        try:
            headers |= await self.authorization()
            async with self.session.request(
                method, self.host + path, data=body, headers=headers, timeout=timeout
            ) as answer:
                content = await answer.read()
                if answer.status < 400:
                    return content
                raise _error(answer, content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from error

    @asynccontextmanager
    async def stream(
        self, path: str, *, accept: str = "application/json", silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give a long answer as it comes. Silence ends it, too.

        Raises ApiError for every outcome but these, inside of the block, too.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_read=silence_seconds
        )
        try:
            headers = {"Accept": accept} | await self.authorization()
            async with self.session.get(
                self.host + path, headers=headers, timeout=timeout
            ) as answer:
                if answer.status >= 400:
                    raise _error(answer, await answer.read())
                yield _until_silence(answer.content.iter_any())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from error

    async def authorization(self) -> dict[str, str]:
        """Return the header that says who we are, if there is one."""
        now = time.monotonic()
        if now - self._token_read_at > TOKEN_SECONDS:
            self._token = await self.configuration.get_api_key_with_prefix("BearerToken") or ""
            self._token = self._token or self._basic()
            self._token_read_at = now
        return {"Authorization": self._token} if self._token else {}

    def _basic(self) -> str:
        if not self.configuration.username:
            return ""
        pair = f"{self.configuration.username}:{self.configuration.password}"
        return "Basic " + base64.b64encode(pair.encode()).decode()

    def _ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.configuration.ssl_ca_cert)
        if self.configuration.cert_file:
            context.load_cert_chain(self.configuration.cert_file, self.configuration.key_file)
        if not self.configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


async def _until_silence(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    with suppress(aiohttp.SocketTimeoutError):
        async for chunk in chunks:
            yield chunk


def _error(answer: aiohttp.ClientResponse, content: bytes) -> ApiError:
    cause = ""
    try:
        status: Any = orjson.loads(content)
        message = str(status["message"])
        cause = _cause(status)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = content[:200].decode(errors="replace") or str(answer.reason)
    try:
        retry_after = float(answer.headers.get("Retry-After", 0))
    except ValueError:
        retry_after = 0.0
    return ApiError(answer.status, message, retry_after, cause)


def _cause(status: Mapping[str, Any]) -> str:
    """Return the first word that the server gives for what caused its answer."""
    causes = (status.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("reason") or "")
