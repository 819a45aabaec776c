"""What is read of a kubeconfig."""

from pathlib import Path

import pytest

from gang_scheduler.client import connection
from gang_scheduler.client.connection import UnusableConfigurationError

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
users: [{name: u, user: {token: t}}]
clusters:
- name: k
  cluster:
    server: https://10.0.0.1:6443
    tls-server-name: api.internal
    proxy-url: http://proxy:3128
"""


async def test_a_kubeconfig_names_the_server_and_the_proxy_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)

    found = await connection.load(str(path))

    assert ("https://10.0.0.1:6443", "api.internal") == (found.host, found.tls_server_name)
    assert "http://proxy:3128" == found.proxy


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("foo: [bar", "while parsing a flow sequence"),
        ("", "this is no kubeconfig: "),
        ("hello", "this is no kubeconfig: "),
        ("contexts: 7", "this is no kubeconfig: "),
        ("a: b", "Invalid kube-config file. Expected key current-context"),
        (KUBECONFIG.replace("token: t", "exec: {apiVersion: v1, command: gone}"), "[Errno 2] No"),
    ],
)
async def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UnusableConfigurationError) as refused:
        await connection.load(str(path))

    assert str(refused.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(refused.value)


async def test_without_a_pod_and_a_kubeconfig_both_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HOME": str(tmp_path), "KUBECONFIG": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UnusableConfigurationError) as refused:
        await connection.load("")

    missing = f"{tmp_path}/.kube/config: there is no such file, and this is no pod ("
    assert str(refused.value).startswith(missing)
