"""The URL of an API server, in all the ways in which kubeconfigs write it."""

import ssl

import pytest

from gang_scheduler.client.http1.address import Address
from gang_scheduler.client.http1.proxy import Proxy

TLS = ssl.create_default_context()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://10.0.0.1:6443", Address("10.0.0.1", 6443, "10.0.0.1:6443", "", TLS)),
        ("https://k8s.example", Address("k8s.example", 443, "k8s.example", "", TLS)),
        ("https://[fd00::1]:6443", Address("fd00::1", 6443, "[fd00::1]:6443", "", TLS)),
        ("https://r.example/k8s/c-1/", Address("r.example", 443, "r.example", "/k8s/c-1", TLS)),
        ("http://localhost:8001", Address("localhost", 8001, "localhost:8001", "", None)),
        ("http://localhost", Address("localhost", 80, "localhost", "", None)),
    ],
)
def test_a_url_says_where_and_how(url: str, expected: Address) -> None:
    assert expected == Address.of(url, TLS)


@pytest.mark.parametrize("url", ["", "10.0.0.1:6443", "localhost", "ftp://host", "https://"])
def test_what_is_no_url_of_http_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="not the URL of an API server"):
        Address.of(url, TLS)


def test_a_server_without_tls_is_not_asked_through_a_proxy() -> None:
    with pytest.raises(ValueError, match="proxy-url: a server without TLS"):
        Address.of("http://localhost", TLS, Proxy("proxy", 3128))
