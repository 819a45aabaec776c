"""The kinds can be written and read again, describe themselves, and never change in place."""

import datetime as dt
from typing import Any

import pytest
from pydantic import ValidationError

from gang_scheduler.api.kinds import PODS
from gang_scheduler.api.parsing import parse_spec
from gang_scheduler.api.pod_group import (
    ApiModel,
    Condition,
    ConditionStatus,
    CustomResource,
    Phase,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
)
from gang_scheduler.api.topology import (
    ClusterNetworkTopology,
    ClusterNetworkTopologySpec,
    ClusterNetworkTopologyStatus,
    TopologyDetail,
    TopologyInfo,
    TopologyLayerSpec,
)

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
READY = Condition(
    type="Ready",
    status=ConditionStatus.TRUE,
    observed_generation=3,
    last_transition_time=NOON,
    reason="ExcludedNodes",
    message="2 nodes are not in the tree: n1, n2",
)
POD_GROUP = PodGroup(
    metadata={"name": "a", "namespace": "team"},
    spec=PodGroupSpec(
        min_member=4, min_resources={"cpu": 4, "memory": "1Gi"}, schedule_timeout_seconds=60
    ),
    status=PodGroupStatus(
        phase=Phase.SCHEDULED,
        members=4,
        scheduled=4,
        domain="s1/b2",
        occupied_by="team/job",
        schedule_start_time=NOON,
        conditions=(READY,),
    ),
)
TOPOLOGY = ClusterNetworkTopology(
    metadata={"name": "default"},
    spec=ClusterNetworkTopologySpec(
        network_topology_spec=(
            TopologyLayerSpec(topology_layer="SpineLayer", label_key=("example.com/spine",)),
            TopologyLayerSpec(
                topology_layer="NodeTopologyLayer", parent_topology_layer="SpineLayer"
            ),
        )
    ),
    status=ClusterNetworkTopologyStatus(
        detail_status=(
            TopologyDetail(
                topology_info=TopologyInfo(topology_layer="ClusterTopologyLayer", topology_name=""),
                child_topology_layer="SpineLayer",
                child_topology_names=("s1",),
                node_num=2,
            ),
        ),
        conditions=(READY,),
    ),
)


@pytest.mark.parametrize("resource", [POD_GROUP, TOPOLOGY])
def test_what_is_written_is_read_again(resource: CustomResource) -> None:
    assert resource == parse_spec(type(resource), resource.manifest())


def test_a_manifest_has_the_names_and_forms_of_kubernetes() -> None:
    expected: dict[str, Any] = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "a"},
        "spec": {"minMember": 1},
        "status": {
            "members": 0,
            "scheduled": 0,
            "running": 0,
            "succeeded": 0,
            "failed": 0,
            "scheduleStartTime": "2026-01-02T12:00:00Z",
            "checkpoints": [],
            "conditions": [],
        },
    }
    started = NOON.replace(microsecond=250_000).astimezone(dt.timezone(dt.timedelta(hours=8)))

    written = PodGroup(
        metadata={"name": "a"},
        spec=PodGroupSpec(min_member=1),
        status=PodGroupStatus(schedule_start_time=started),
    ).manifest()

    assert expected == written


@pytest.mark.parametrize("kind", [PodGroup, ClusterNetworkTopology])
def test_the_default_api_version_is_the_one_of_the_kind(kind: type[CustomResource]) -> None:
    expected = (f"{kind.GROUP}/{kind.VERSION}", kind.__name__)
    fields = kind.model_fields

    assert expected == (fields["api_version"].default, fields["kind"].default)


def test_every_field_has_a_description() -> None:
    undescribed = [
        f"{model.__name__}.{name}"
        for model in (*ApiModel.__subclasses__(), *CustomResource.__subclasses__())
        for name, field in model.model_fields.items()
        if not field.description
    ]

    assert [] == undescribed


def test_a_resource_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        POD_GROUP.spec.min_member = 5


def test_our_own_mistake_in_a_status_is_not_hidden() -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        PodGroupStatus.model_validate({"members": "many"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b-c", "a.b-c"),
        ("?watch=true", "%3Fwatch%3Dtrue"),
        ("../secrets/x", "..%2Fsecrets%2Fx"),
        ("a/status", "a%2Fstatus"),
        ("..", "..%20"),
        ("%2e%2e", "%252e%252e"),
        ("a b\r\n", "a%20b%0D%0A"),
    ],
)
def test_no_name_leads_to_another_path(name: str, expected: str) -> None:
    assert f"/api/v1/namespaces/ns/pods/{expected}" == PODS.path("ns", name)
    assert f"/api/v1/namespaces/{expected}/pods" == PODS.path(name)
