"""The URLs of an API server and of a proxy, in all the ways in which kubeconfigs write them."""

import ssl

import pytest

from gang_scheduler.client.address import Address, Proxy

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


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/pods/a-0?x=1&y=%20", "/k8s/pods/a-0?x=1&y=%20"),
        ("/pods/a b\r\nc", "/k8s/pods/a%20b%0D%0Ac"),
    ],
)
def test_a_name_in_a_path_stays_one(path: str, expected: str) -> None:
    address = Address.of("https://us:pw@r.example:6443/k8s/", TLS)

    assert expected == address.target(path)
    assert f"https://r.example:6443{expected}" == address.url(path)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://proxy.example:3128", Proxy("proxy.example", 3128)),
        ("http://proxy.example", Proxy("proxy.example", 80)),
        ("http://[fd00::1]:3128/", Proxy("fd00::1", 3128)),
        ("http://us:p%40ss@proxy:3128", Proxy("proxy", 3128, "Basic dXM6cEBzcw==")),
        ("http://us@proxy:3128", Proxy("proxy", 3128, "Basic dXM6")),
    ],
)
def test_the_url_of_a_proxy_says_where_and_which_user_asks(url: str, expected: Proxy) -> None:
    assert expected == Proxy.of(url)


@pytest.mark.parametrize("url", ["https://proxy", "socks5://proxy:1080", "proxy:3128", "http://"])
def test_a_proxy_of_another_kind_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="proxy-url: only proxies of http:// are supported"):
        Proxy.of(url)
