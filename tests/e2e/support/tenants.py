"""Users with few rights: what they may read of a cluster, and no more."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import access, credentials

RBAC: Final = "rbac.authorization.k8s.io"
READS: Final = {"verbs": ["get", "list"], "apiGroups": ["*"]}
READS_GANGS: Final = ({**READS, "resources": ["pods", "podgroups", "events"]},)


def of_namespace(
    cluster: controlplane.Cluster,
    namespace: str,
    directory: Path,
    name: str = "tenant",
    rules: Sequence[Mapping[str, Any]] = READS_GANGS,
) -> Path:
    """Return the kubeconfig of a ServiceAccount with rights in one namespace alone.

    By default it may read gangs.
    """
    here = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    roles = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    cluster.request("POST", here, {"metadata": {"name": name}})
    cluster.request("POST", f"{roles}/roles", {"metadata": {"name": name}, "rules": [*rules]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": RBAC, "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    cluster.request("POST", f"{roles}/rolebindings", binding)
    token = cluster.request("POST", f"{here}/{name}/token", {"spec": {}})["status"]["token"]
    file = directory / f"kubeconfig-{name}"
    user = access.Access(cluster.url, cluster.ca_file, token)
    credentials.write_kubeconfig(file, user)
    with access.Client(user) as client:
        # The authorizer learns of roles by a watch.
        until(lambda: client.request("GET", f"/api/v1/namespaces/{namespace}/pods").status == 200)
    return file
