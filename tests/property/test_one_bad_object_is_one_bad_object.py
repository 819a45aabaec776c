"""Law: an object that is wrong in any way is told of, and keeps no other from what it had."""

import copy
from typing import Any

import structlog
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from gang_scheduler import internal_errors
from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from property import corpus
from property.manifests import OURS
from property.mutants import mutants, written
from support import cache_feeding

RESOURCES = {
    "Pod": kinds.PODS,
    "Node": kinds.NODES,
    "Namespace": kinds.NAMESPACES,
    "Job": kinds.JOBS,
    "JobSet": kinds.JOB_SETS,
    "ClusterNetworkTopology": kinds.CLUSTER_NETWORK_TOPOLOGIES,
    "Topology": kinds.KUEUE_TOPOLOGIES[1],
    "PodDisruptionBudget": kinds.POD_DISRUPTION_BUDGETS,
    "PersistentVolumeClaim": kinds.PERSISTENT_VOLUME_CLAIMS,
    "PersistentVolume": kinds.PERSISTENT_VOLUMES,
    "StorageClass": kinds.STORAGE_CLASSES,
    "CSINode": kinds.CSI_NODES,
    "CSIDriver": kinds.CSI_DRIVERS,
    "CSIStorageCapacity": kinds.CSI_STORAGE_CAPACITIES,
    "VolumeAttachment": kinds.VOLUME_ATTACHMENTS,
    "DeviceClass": kinds.DEVICE_CLASSES,
    "DeviceTaintRule": kinds.DEVICE_TAINT_RULES[0],
    "ResourceSlice": kinds.RESOURCE_SLICES,
    "ResourceClaim": kinds.RESOURCE_CLAIMS,
    "ResourceClaimTemplate": kinds.RESOURCE_CLAIM_TEMPLATES,
}
POD_GROUPS = {
    corpus.POD_GROUP["apiVersion"]: kinds.POD_GROUPS,
    corpus.NATIVE["apiVersion"]: kinds.NATIVE_POD_GROUPS[0],
}
GOOD = [each for each in corpus.ALL if each["kind"] != "PriorityClass"]
NOW = 1_704_067_300


def resource_of(manifest: dict[str, Any]) -> GVR:
    if manifest["kind"] == "PodGroup":
        return POD_GROUPS[manifest["apiVersion"]]
    return RESOURCES[manifest["kind"]]


class Harness:
    """A cache that has seen one good object of each kind."""

    def __init__(self) -> None:
        self.cache = Cache([OURS], Changes())
        self.event_handlers = cache_feeding.event_handlers(self.cache)
        self.feeds = {
            each: KnownObjects(each, self.event_handlers.versions)
            for each in self.event_handlers.all
        }
        for manifest in GOOD:
            self.list_all(resource_of(manifest), *self.of(resource_of(manifest)))

    @staticmethod
    def of(gvr: GVR) -> list[dict[str, Any]]:
        """Return the good objects of a kind."""
        return [each for each in GOOD if resource_of(each) == gvr]

    def list_all(self, gvr: GVR, *manifests: Any) -> None:
        """List these, and nothing else of their kind."""
        known_objects = self.feeds[self.event_handlers.of(gvr)]
        known_objects.begin(gvr)
        for each in manifests:
            known_objects.listed(Raw(written(each).encode()))
        known_objects.end()

    def uids(self) -> dict[str, set[str]]:
        """Return what is known, by kind."""
        return {each.name: set(each.uids()) for each in self.event_handlers.all}


@st.composite
def wrong(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """Return a good object, and what has become of it."""
    good = draw(st.sampled_from(GOOD))
    return good, draw(mutants(good))


@given(wrong(), st.booleans())
def test_one_bad_object_is_one_bad_object(changed: tuple[Any, Any], as_bytes: bool) -> None:  # noqa: FBT001 - drawn.
    good, bad = changed
    gvr = resource_of(good)
    internal_errors.forget()
    with structlog.testing.capture_logs():
        harness = Harness()
        before = harness.uids()
        if as_bytes:
            harness.list_all(gvr, bad, *(each for each in Harness.of(gvr) if each is not good))
        else:
            body = copy.deepcopy({"apiVersion": good["apiVersion"], **bad})
            harness.event_handlers.of(gvr).handle({"type": "MODIFIED", "object": body})
        schedule(harness.cache.snapshot(NOW), PROFILES["binpack"])

    after = harness.uids()
    assert "" == internal_errors.problem()
    for kind, uids in before.items():
        assert uids - {good["metadata"]["uid"]} <= after[kind]
