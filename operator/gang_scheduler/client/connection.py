"""Connections to the API server: from the pod's ServiceAccount or a kubeconfig.

kubernetes_asyncio loads the configuration, with everything a kubeconfig can contain (exec plugins
too). A proxy that is not an http proxy is refused by name. Its typed client is not used: it needs
several times the CPU for a binding, and reports a successful binding as an error
(kubernetes-client/python#547). Requests go over a small client of our own (`http1`), because a
request in an aiohttp session costs four times as much. An administrator can choose aiohttp for
requests, too. Watches always use it; they make only one request in minutes.
"""

import base64
import importlib
import os
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import yaml

from gang_scheduler import __version__
from gang_scheduler.client import errors, kubeconfigs
from gang_scheduler.client.address import Address, Proxy
from gang_scheduler.client.errors import AnswerTooLongError, ApiError
from gang_scheduler.client.fence import Fence
from gang_scheduler.client.http import (
    CONNECT_SECONDS,
    Answer,
    HttpClient,
    NotSentError,
    TooLongError,
)
from gang_scheduler.client.http1 import Client
from gang_scheduler.client.kubeconfigs import ConfigException, Configuration
from gang_scheduler.settings.choices import HttpClientName
from gang_scheduler.telemetry import logger, metrics
from gang_scheduler.telemetry.logger import Logger

if TYPE_CHECKING:
    import aiohttp


# Requests to the API server are counted by verb and resource, named as in its own audit log.

VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
WATCH: Final = "watch"


def count_request(
    method: str, path: str, status: int, seconds: float, *, watches: bool = False
) -> None:
    """Count a request and its duration in seconds. A `status` of 0 stands for no answer."""
    resource, has_name = _resource_of(path)
    verb = VERBS.get(method) or ("get" if has_name else "list")
    if watches:
        verb = WATCH
    metrics.API_REQUESTS.labels(verb, resource, str(status)).inc()
    metrics.API_SECONDS.labels(verb, resource).observe(seconds)


def _resource_of(path: str) -> tuple[str, bool]:
    """Return the resource of a request with its subresource, and whether it names one object.

    For a path without a resource, which asks for the served kinds, the resource is `apis`.
    """
    parts = path.partition("?")[0].split("/")
    rest = parts[3:] if parts[1] == "api" else parts[4:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    if not rest:
        return "apis", True
    return "/".join((rest[0], *rest[2:3])), len(rest) > 1


# How the API server and this client authenticate to each other by TLS.


def context_of(configuration: Configuration) -> ssl.SSLContext:
    """Return the TLS context of all connections.

    Raises OSError or ValueError for unusable files.
    """
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.tls_server_name:
        _expect(configuration.tls_server_name, context)
    return context


def _expect(name: str, context: ssl.SSLContext) -> None:
    """Make the server prove that it is `name`, instead of the host name in its URL."""
    context.wrap_bio = partial(_wrap_as, context.wrap_bio, name)  # type: ignore[method-assign] # of this context only.


def _wrap_as(wrap_bio: Any, name: str, *ends: ssl.MemoryBIO, **given: Any) -> ssl.SSLObject:  # noqa: ANN401 - the standard library's.
    wrapped: ssl.SSLObject = wrap_bio(*ends, **{**given, "server_hostname": name})
    return wrapped


REQUEST_SECONDS = 30
PAGE_SECONDS = 60.0
"""The timeout of a page of a list, for commands that read it once and never repeat it."""
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "default"
TOKEN_SECONDS = 60
"""The token is read this often: projected ServiceAccount tokens are replaced on disk in time."""
HEADERS = {
    "User-Agent": f"py-gang-scheduler/{__version__}",
    # Compressing a long list takes the API server longer than sending it as it is.
    "Accept-Encoding": "identity",
}

log = Logger()


def import_for_watches() -> None:
    """Import the modules of the first watch. Inside an event loop this would block it."""
    importlib.import_module("gang_scheduler.client.aiohttp_client")


class UnusableConfigurationError(Exception):
    """The configuration of the API server, from a kubeconfig or the pod, cannot be used."""


async def load(kubeconfig: str) -> Configuration:
    """Return the configuration from a named kubeconfig, else of the pod, else from the usual one.

    Raises UnusableConfigurationError with a message of one line.
    """
    if kubeconfig:
        return await _of_file(kubeconfig)
    configuration = Configuration()
    try:
        kubeconfigs.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # their annotations lack this one
    except ConfigException as error:
        usual = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        if not _exists(usual):
            raise UnusableConfigurationError(
                f"{usual}: there is no such file, and this is no pod ({str(error).rstrip('.')})"
            ) from error
        return await _of_file(usual)
    return configuration


async def load_as_user(kubeconfig: str = "", context: str = "") -> tuple[Configuration, str]:
    """Return the configuration as kubectl finds it, and the namespace of its context.

    It comes from the named file, else from the usual file, else from the pod that this runs in.
    Without a `context`, the current context counts. Raises UnusableConfigurationError with a
    message of one line.
    """
    usual = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if kubeconfig or context or _exists(usual):
        return await _of_context(usual, context)
    return await load(""), namespace_of_pod() or DEFAULT_NAMESPACE


def namespace_of_pod() -> str:
    """Return the namespace of the pod that this runs in, "" outside of pods."""
    return NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.exists() else ""


async def _of_file(kubeconfig: str) -> Configuration:
    configuration, _ = await _of_context(kubeconfig)
    return configuration


async def _of_context(kubeconfig: str, context: str = "") -> tuple[Configuration, str]:
    if not _exists(kubeconfig):
        raise UnusableConfigurationError(f"{kubeconfig}: there is no such file")
    configuration = Configuration()
    try:
        loader = await kubeconfigs.load_kube_config(
            kubeconfig, context or None, client_configuration=configuration
        )
        chosen = (loader.current_context or {}).get("context") or {}
    except (ConfigException, yaml.YAMLError, OSError) as error:
        problem = " ".join(str(error).split())
        if isinstance(error, OSError) and error.filename is None:
            problem += ": a program that it names"
        elif context and f"name {context} in" in problem:
            problem = f'context "{context}" does not exist'
        raise UnusableConfigurationError(f"{kubeconfig}: {problem}") from error
    except Exception as error:
        # A document of another shape fails at an unpredictable place in the library.
        problem = f"this is no kubeconfig: {type(error).__name__}: {error}"
        raise UnusableConfigurationError(f"{kubeconfig}: {problem}") from error
    return configuration, str(chosen.get("namespace") or DEFAULT_NAMESPACE)


def _exists(kubeconfig: str) -> bool:
    """Return whether at least one of the named files exists."""
    return any(map(os.path.exists, kubeconfig.split(os.pathsep)))


@dataclass
class Connection:
    """All connections to one API server. Use as an async context manager.

    At most `limit` short requests are in flight at once. Writes are sent while the `fence` allows
    it. Entering may raise UnusableConfigurationError.
    """

    configuration: Configuration
    limit: int = 100
    http_client: HttpClientName = HttpClientName.BUILTIN
    fence: Fence = field(default_factory=Fence)
    _client: HttpClient | None = None
    _session: "aiohttp.ClientSession | None" = None
    _tls: ssl.SSLContext | None = None
    _token: str = ""
    _token_read_at: float = field(default=float("-inf"))

    async def __aenter__(self) -> Self:
        try:
            self._tls = context_of(self.configuration)
            proxy = Proxy.of(self.proxy_url) if self.proxy_url else None
            address = Address.of(self.host, self._tls, proxy)
        except (OSError, ValueError) as error:
            raise UnusableConfigurationError(str(error)) from error
        if self.http_client == HttpClientName.AIOHTTP:
            from gang_scheduler.client.aiohttp_client import AiohttpClient  # noqa: PLC0415 - as `session`.

            self._client = AiohttpClient(self.session, address, self.limit)
        else:
            self._client = Client(address, HEADERS, self.limit)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        await self.client.close()

    @property
    def client(self) -> HttpClient:
        """The open client of short requests."""
        if self._client is None:
            raise RuntimeError("the connection is not open")
        return self._client

    @property
    def session(self) -> "aiohttp.ClientSession":
        """The session of watches, opened when it is first used."""
        if self._session is None:
            # Imported here, since commands watch nothing, and importing aiohttp takes as long as a
            # command.
            from gang_scheduler.client import aiohttp_client  # noqa: PLC0415

            self._session = aiohttp_client.session_of(self.tls, HEADERS, self.proxy_url)
        return self._session

    @property
    def tls(self) -> ssl.SSLContext:
        """The TLS context of all connections."""
        if self._tls is None:
            raise RuntimeError("the connection is not open")
        return self._tls

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return str(self.configuration.host)

    @property
    def proxy_url(self) -> str | None:
        """The URL of the proxy to the API server, if there is one."""
        return self.configuration.proxy or None

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
        began = time.monotonic()
        try:
            headers |= await self.authorization()
            if method == "GET":
                answer = await self.client.ask(method, path, headers, body, timeout_seconds)
            else:
                answer = await self._write(method, path, headers, body, timeout_seconds)
        except TooLongError as error:
            _count_request(method, path, 0, began)
            raise AnswerTooLongError(str(error)) from error
        except (OSError, ConfigException) as error:
            _count_request(method, path, 0, began)
            raise ApiError(0, f"{type(error).__name__}: {error}") from error
        _count_request(method, path, answer.status, began)
        if 200 <= answer.status < 300:
            return answer.body
        retry_after = answer.headers.get(b"retry-after", b"").decode(errors="replace")
        raise errors.of_answer(answer.status, answer.reason, answer.body, retry_after)

    async def _write(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_seconds: float,
    ) -> Answer:
        """Send a write if the fence allows it.

        The server is told how long the write may last. That is the time that the Lease allows,
        since a request may wait for a quarter of it in the queues of priority and fairness.
        """
        lasts = self.fence.within(REQUEST_SECONDS)
        if not self.fence.allows(lasts):
            raise NotSentError("another replica may lead")
        if self.fence.is_needed:
            path = f"{path}{'&' if '?' in path else '?'}timeout={lasts:.3f}s"
        seconds = min(timeout_seconds, lasts)
        with self.fence.write(lasts) as write:
            answer = await self.client.ask(
                method, path, headers, body, seconds, may_send=write.may_be_sent
            )
            # A server that reports a failure may still carry it out.
            write.is_answered = answer.status < 500
            return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, accept: str = "application/json", silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the chunks of a long answer as they come, until its end or `silence_seconds`.

        Raises ApiError for every other outcome, also while the block runs.
        """
        import aiohttp  # noqa: PLC0415 - as `session`.

        began = time.monotonic()
        timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_read=silence_seconds
        )
        try:
            headers = {"Accept": accept} | await self.authorization()
            async with self.session.get(
                self.host + path, headers=headers, timeout=timeout
            ) as answer:
                _count_request("GET", path, answer.status, began, watches=True)
                if answer.status >= 400:
                    raise await _error(answer)
                yield _until_silence(answer.content.iter_any())
        except (aiohttp.ClientError, ConfigException, OSError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from error

    async def authorization(self) -> dict[str, str]:
        """Return the Authorization header, if there are credentials for one."""
        now = time.monotonic()
        if now - self._token_read_at > TOKEN_SECONDS:
            token = await self.configuration.get_api_key_with_prefix("BearerToken") or ""
            # A newline at the end of the token file would make the header invalid.
            self._token = token.strip() or self._basic()
            self._token_read_at = now
        return {"Authorization": self._token} if self._token else {}

    def _basic(self) -> str:
        if not self.configuration.username:
            return ""
        pair = f"{self.configuration.username}:{self.configuration.password}"
        return "Basic " + base64.b64encode(pair.encode()).decode()


def _count_request(
    method: str, path: str, status: int, began: float, *, watches: bool = False
) -> None:
    """Count a request by the status of its answer, 0 without one, and log it at level debug.

    The content is never logged.
    """
    seconds = time.monotonic() - began
    count_request(method, path, status, seconds, watches=watches)
    if logger.is_debugging():
        log.debug("request", method=method, path=path, status=status, seconds=round(seconds, 4))


async def _until_silence(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    import aiohttp  # noqa: PLC0415 - as `session`.

    with suppress(aiohttp.SocketTimeoutError):
        async for chunk in chunks:
            yield chunk


async def _error(answer: "aiohttp.ClientResponse") -> ApiError:
    retry_after = answer.headers.get("Retry-After", "")
    content = await answer.read()
    return errors.of_answer(answer.status, answer.reason or "", content, retry_after)
