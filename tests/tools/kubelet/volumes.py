"""The files of a container, in directories of this machine."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.controlplane import access, errors
from tools.controlplane.cluster import Cluster
from tools.kubelet import variables
from tools.kubelet.variables import Pod

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TERMINATION_LOG = "/dev/termination-log"
NOT_FOUND = 404
ConfigMap = Mapping[str, str]


class Volumes:
    """The volumes of one pod. `shared` is where those are that other pods see, too."""

    def __init__(self, directory: Path, shared: Path) -> None:
        self.directory = directory
        self._shared = shared
        self._places: dict[str, Path] = {}

    @property
    def termination_log(self) -> Path:
        """What the container leaves when it ends."""
        return self.directory / "termination-log"

    def make(self, pod: Pod, cluster: Cluster, client: access.Client) -> bool:
        """Make the files that a container finds when it starts; False while one is missing."""
        names = [
            each["configMap"]["name"]
            for each in pod["spec"].get("volumes", ())
            if "configMap" in each
        ]
        maps = {name: _config_map(pod, name, client) for name in names}
        if None in maps.values():
            return False
        self.directory.mkdir(parents=True)
        self.termination_log.touch()
        container = variables.container_of(pod)
        log_path = container.get("terminationMessagePath", TERMINATION_LOG)
        self._places = {log_path: self.termination_log}
        made = {each["name"]: self._volume(each, maps) for each in pod["spec"].get("volumes", ())}
        for mount in container.get("volumeMounts", ()):
            self._places[mount["mountPath"]] = made[mount["name"]]
        for volume in pod["spec"].get("volumes", ()):
            for name, text in (maps.get(volume.get("configMap", {}).get("name")) or {}).items():
                # Scripts name paths of mounts, too.
                (made[volume["name"]] / name).write_text(self.real(text))
        if pod["spec"].get("serviceAccountName", "default") != "default":
            self._places[SERVICE_ACCOUNT] = self._service_account(pod, cluster, client)
        self.refresh(pod)
        return True

    def refresh(self, pod: Pod) -> None:
        """Write the fields of a pod again that its volumes show, where they have changed."""
        for volume in pod["spec"].get("volumes", ()):
            for item in volume.get("downwardAPI", {}).get("items", ()):
                path = self.directory / volume["name"] / item["path"]
                value = variables.field(pod, item["fieldRef"]["fieldPath"])
                if not path.exists() or path.read_text() != value:
                    # Whole or not at all, as a kubelet does it.
                    new = path.with_name(f".{path.name}")
                    new.write_text(value)
                    new.replace(path)

    def real(self, text: str) -> str:
        """Return a text with the real path in place of each path of the container."""
        for inside, outside in sorted(self._places.items(), reverse=True):
            text = re.sub(rf"(?<![\w/.-]){re.escape(inside)}(?![\w.-])", str(outside), text)
        return text

    def _volume(self, volume: Mapping[str, Any], maps: Mapping[str, ConfigMap | None]) -> Path:
        directory = self.directory / str(volume["name"])
        if "nfs" in volume:
            # By name of the share: what one pod leaves there, another finds.
            directory = self._shared / volume["nfs"]["path"].strip("/")
        elif "persistentVolumeClaim" in volume:
            directory = self._shared / volume["persistentVolumeClaim"]["claimName"]
        elif not {"configMap", "downwardAPI", "emptyDir"} & volume.keys():
            raise errors.ControlPlaneError(f"the stand-in for kubelets knows no volume {volume}")
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in (maps.get(volume.get("configMap", {}).get("name")) or {}).items():
            (directory / name).write_text(text)
            (directory / name).chmod(volume["configMap"].get("defaultMode", 0o644))
        return directory

    def _service_account(self, pod: Pod, cluster: Cluster, client: access.Client) -> Path:
        metadata, directory = pod["metadata"], self.directory / "service-account"
        directory.mkdir()
        bound = {key: metadata[key] for key in ("name", "uid")}
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts"
        reply = client.request(
            "POST",
            f"{path}/{pod['spec']['serviceAccountName']}/token",
            {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **bound}}},
        )
        files = {
            "token": reply.check().body["status"]["token"],
            "namespace": metadata["namespace"],
            "ca.crt": cluster.ca_file.read_text() if cluster.ca_file else "",
        }
        for name, text in files.items():
            (directory / name).write_text(text)
        return directory


def _config_map(pod: Pod, name: str, client: access.Client) -> ConfigMap | None:
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{name}"
    reply = client.request("GET", path)
    return None if reply.status == NOT_FOUND else reply.check().body.get("data", {})
