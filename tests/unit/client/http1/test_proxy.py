"""The proxy-url of a kubeconfig, in all the ways in which it is written."""

import pytest

from gang_scheduler.client.http1.proxy import Proxy


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
def test_a_url_says_where_and_who_asks(url: str, expected: Proxy) -> None:
    assert expected == Proxy.of(url)


@pytest.mark.parametrize("url", ["https://proxy", "socks5://proxy:1080", "proxy:3128", "http://"])
def test_a_proxy_of_another_kind_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="proxy-url: only proxies of http:// are supported"):
        Proxy.of(url)
