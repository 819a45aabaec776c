"""How the API server proves that it is the right one, and how we prove who we are, by TLS."""

import ssl
from functools import partial
from typing import Any

from kubernetes_asyncio.client import Configuration


def context_of(configuration: Configuration) -> ssl.SSLContext:
    """Return the context of all connections. Raises OSError or ValueError for unusable files."""
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
    """Have the server asked for another name than that of its URL, and prove it.

    Here, since Kopf has no way to say so for each request. Event loops start TLS by `wrap_bio`.
    """
    context.wrap_bio = partial(_wrap_as, context.wrap_bio, name)  # type: ignore[method-assign] # of this context only.


def _wrap_as(wrap_bio: Any, name: str, *ends: ssl.MemoryBIO, **given: Any) -> ssl.SSLObject:  # noqa: ANN401 - the standard library's.
    wrapped: ssl.SSLObject = wrap_bio(*ends, **{**given, "server_hostname": name})
    return wrapped
