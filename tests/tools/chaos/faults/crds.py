"""CRDs are removed with all their objects, and installed again; users create theirs again."""

import json

from e2e.support.waiting import until
from tools.chaos.faults.fault import RIGHTS, SERVERS, Fault
from tools.chaos.site import CRDS, cluster_objects


class RemoveCrd(Fault):
    """One of our CRDs is removed for a time."""

    seconds = (2.0, 8.0)
    takes = frozenset({SERVERS, RIGHTS})
    weight = 1
    crd: str
    kind: str

    def begin(self) -> None:
        """Remove it."""
        self.site.plane.kubectl("delete", "crd", self.crd, "--wait=false")

    def end(self) -> None:
        """Install it once it is gone, and create what users had."""
        until(self._is_gone, 120.0)
        path = CRDS / f"{self.crd}.yaml"
        self.site.plane.kubectl("apply", f"--filename={path}")
        self.site.plane.kubectl(
            "wait", "--for=condition=Established", "--timeout=60s", f"crd/{self.crd}"
        )
        lost = [each for each in cluster_objects() if each["kind"] == self.kind]
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": lost})
        until(lambda: not lost or self._apply(items), 120.0)
        self.site.on_crd(self.kind)

    def _is_gone(self) -> bool:
        return not self.site.plane.kubectl("get", "crd", self.crd, "--ignore-not-found")

    def _apply(self, items: str) -> bool:
        said = self.site.plane.kubectl("apply", "--filename=-", input=items, check=False)
        return said.count("\n") == items.count('"kind": "') - 1


class RemovePodGroups(RemoveCrd):
    """PodGroups go, with all of them; bound pods stay."""

    name = "CRD of PodGroups removed"
    crd, kind = "podgroups.scheduling.sigs.k8s.io", "PodGroup"


class RemoveQueues(RemoveCrd):
    """Queues go."""

    name = "CRD of Queues removed"
    crd, kind = "queues.py-gang-scheduler.io", "Queue"


class RemoveTopologies(RemoveCrd):
    """The topology goes."""

    name = "CRD of topologies removed"
    crd, kind = "clusternetworktopologies.scheduling.koordinator.sh", "ClusterNetworkTopology"


FAULTS = (RemovePodGroups, RemoveQueues, RemoveTopologies)
