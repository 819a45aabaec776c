"""An API server as a kubeconfig names it."""

from pathlib import Path

import pytest

from gang_scheduler.client.connection import UnusableConfigurationError
from gang_scheduler.inspection import servers

KUBECONFIG = """\
current-context: one
contexts:
  - {name: one, context: {cluster: c, namespace: research}}
  - {name: two, context: {cluster: d}}
clusters:
  - {name: c, cluster: {server: "http://127.0.0.1:1"}}
  - {name: d, cluster: {server: "http://127.0.0.1:2"}}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """Return the path of a kubeconfig of two contexts."""
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return str(path)


@pytest.mark.parametrize(
    ("context", "host", "namespace"),
    [
        ("", "http://127.0.0.1:1", "research"),
        ("two", "http://127.0.0.1:2", "default"),
    ],
)
async def test_the_context_says_which_server_and_namespace(
    kubeconfig: str, context: str, host: str, namespace: str
) -> None:
    async with servers.connected(kubeconfig, context) as server:
        assert (host, namespace) == (server.connection.host, server.namespace)


async def test_without_a_flag_the_variable_names_the_file(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    async with servers.connected() as server:
        assert "research" == server.namespace


async def test_a_context_that_is_not_there_is_named(kubeconfig: str) -> None:
    with pytest.raises(UnusableConfigurationError, match='context "three" does not exist'):
        async with servers.connected(kubeconfig, "three"):
            pass
