"""What is written to claims and volumes is for the version that was read, and for no other."""

from gang_scheduler.api.annotations import SELECTED_NODE
from gang_scheduler.client import patches
from gang_scheduler.client.patches import BOUND_BY_CONTROLLER
from gang_scheduler.model.refs import ClaimRef, VolumeRef

CLAIM = ClaimRef("default", "data-0", "u1")
READ = {"uid": "u1", "resourceVersion": "7", "finalizers": ["kubernetes.io/pvc-protection"]}
VERSION = {"uid": "u1", "resourceVersion": "7"}


def test_a_node_is_selected_for_the_version_that_was_read() -> None:
    found = {"metadata": READ, "spec": {}}

    expected = {"metadata": {**VERSION, "annotations": {SELECTED_NODE: "n1"}}}
    assert expected == patches.selecting_node(found, CLAIM, "n1")


def test_a_volume_is_reserved_in_the_version_that_was_read() -> None:
    found = {"metadata": READ, "spec": {}}

    made = patches.reserving_claim(found, VolumeRef("disk-0", "u1"), CLAIM)

    assert made is not None
    assert {**VERSION, "annotations": {BOUND_BY_CONTROLLER: "yes"}} == made["metadata"]
    assert {"claimRef"} == made["spec"].keys()
