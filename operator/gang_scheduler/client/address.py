"""The address of the API server, and of the proxy on the way, as in a kubeconfig."""

import base64
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Self, TypeGuard

PORTS = {"http": 80, "https": 443}
PROXY_PORT = 80
IN_PATHS = "/?&=%:@!$'()*+,;~"
"""Characters that are sent unescaped, in addition to letters and digits: no space, no newline."""


@dataclass(frozen=True)
class Proxy:
    """The address of a proxy. `authorization` is a header that the proxy gets; "" for none."""

    host: str
    port: int
    authorization: str = ""

    @classmethod
    def of(cls, url: str) -> Self:
        """Split a proxy-url into its parts. Raises ValueError if it is no http proxy."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            # The URL may hold a password.
            known = f"{parts.scheme}://" if "://" in url else "one without a scheme"
            raise ValueError(f"proxy-url: only proxies of http:// are supported, not {known}")
        return cls(parts.hostname, parts.port or PROXY_PORT, _authorization(parts))


@dataclass(frozen=True)
class Address:
    """A URL, split into its parts.

    `name` is host and port as in the Host header. `tls` is how the server proves its identity, None
    for a URL without TLS. With a `proxy`, the server is reached through a tunnel.
    """

    host: str
    port: int
    name: str
    path: str
    tls: ssl.SSLContext | None
    proxy: Proxy | None = None

    @classmethod
    def of(cls, url: str, tls: ssl.SSLContext, proxy: Proxy | None = None) -> Self:
        """Parse a URL.

        Raises ValueError for a scheme other than HTTP, or a proxy without a tunnel.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in PORTS or not _is_name(parts.hostname):
            raise ValueError(f"not the URL of an API server: {url!r}")
        if proxy is not None and parts.scheme != "https":
            raise ValueError(f"proxy-url: a server without TLS is not asked through it: {url!r}")
        return cls(
            host=parts.hostname,
            port=parts.port or PORTS[parts.scheme],
            name=parts.netloc.rpartition("@")[2],
            path=parts.path.rstrip("/"),
            tls=tls if parts.scheme == "https" else None,
            proxy=proxy,
        )

    def target(self, path: str) -> str:
        """Return the request target for `path`, which may contain any characters."""
        return self.path + urllib.parse.quote(path, safe=IN_PATHS)

    def url(self, path: str) -> str:
        """Return the URL of a path on the server."""
        return f"{'https' if self.tls else 'http'}://{self.name}{self.target(path)}"


def _is_name(host: str | None) -> TypeGuard[str]:
    try:
        return bool(host and host.encode("idna"))
    except UnicodeError:
        return False


def _authorization(parts: urllib.parse.SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()
