"""What is read of a kubeconfig."""

from pathlib import Path

from gang_scheduler.client import connection

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
