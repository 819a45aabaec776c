"""How the API server and this client authenticate to each other by TLS."""

import ssl
from functools import partial
from typing import Any

from gang_scheduler.client.kubeconfigs import Configuration


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
    """Ask the server for a certificate of `name` instead of the name in its URL, and check that.

    In the context, since Kopf cannot set it for each request. Event loops start TLS by `wrap_bio`.
    """
    context.wrap_bio = partial(_wrap_as, context.wrap_bio, name)  # type: ignore[method-assign] # of this context only.


def _wrap_as(wrap_bio: Any, name: str, *ends: ssl.MemoryBIO, **given: Any) -> ssl.SSLObject:  # noqa: ANN401 - the standard library's.
    wrapped: ssl.SSLObject = wrap_bio(*ends, **{**given, "server_hostname": name})
    return wrapped
