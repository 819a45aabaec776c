"""ClusterNetworkTopology: the node labels that make the tree of network domains.

Types and sizes are checked here and by the API server, but not the meaning: a senseless tree must
be stored, so that a condition can explain the fault while the last good tree stays in use.
"""

from typing import Annotated, ClassVar, Final

from pydantic import Field

from gang_scheduler.api.pod_group import (
    ATOMIC_LIST,
    CONDITIONS_BY_TYPE,
    ApiModel,
    Condition,
    CustomResource,
    Int32,
    Text,
)

DEFAULT_NAME: Final = "default"

LabelKey = Annotated[Text, Field(min_length=1, max_length=317)]


class TopologyLayerSpec(ApiModel):
    """One layer of the tree."""

    topology_layer: Text = Field(
        min_length=1, max_length=253, description="The name of the layer. Gangs ask for it by name."
    )
    parent_topology_layer: Text = Field(
        default="",
        max_length=253,
        description="The layer above. Absent or empty for the layer right below the cluster.",
    )
    label_key: tuple[LabelKey, ...] = Field(
        default=(),
        max_length=16,
        description=(
            "Node labels whose value names the domain. The first label that the node has with a "
            "value counts. Absent for NodeTopologyLayer, where every node is its own domain."
        ),
        json_schema_extra=ATOMIC_LIST,
    )


class ClusterNetworkTopologySpec(ApiModel):
    """The layers of the network."""

    # This is no map by topologyLayer, because the API server would then refuse a layer that is
    # named twice. A condition should report it instead.
    network_topology_spec: tuple[TopologyLayerSpec, ...] = Field(
        default=(),
        max_length=32,
        description="The layers in any order. The lowest is NodeTopologyLayer.",
        json_schema_extra=ATOMIC_LIST,
    )


class TopologyInfo(ApiModel):
    """Names one domain within the domain above it."""

    topology_layer: Text = Field(description="The layer of the domain.")
    topology_name: Text = Field(description="The name of the domain; empty for the whole cluster.")


class TopologyDetail(ApiModel):
    """One domain as it was found on the nodes."""

    topology_info: TopologyInfo = Field(description="The domain.")
    parent_topology_info: TopologyInfo | None = Field(
        default=None, description="The domain above. Absent for the whole cluster."
    )
    child_topology_layer: Text | None = Field(
        default=None, description="The layer of the domains below."
    )
    child_topology_names: tuple[Text, ...] | None = Field(
        default=None,
        description=("The domains below, sorted by name. Absent if nodes are below."),
        json_schema_extra=ATOMIC_LIST,
    )
    node_num: Int32 = Field(default=0, ge=0, description="The number of nodes in the domain.")


class ClusterNetworkTopologyStatus(ApiModel):
    """The tree as it was found on the nodes. Written by the scheduler."""

    detail_status: tuple[TopologyDetail, ...] = Field(
        default=(),
        description="Every domain above the nodes, depth first, beginning with the whole cluster.",
        json_schema_extra=ATOMIC_LIST,
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description=(
            "Conditions of the tree: whether it is in use, and which nodes are not in it."
        ),
        json_schema_extra=CONDITIONS_BY_TYPE,
    )


class ClusterNetworkTopology(CustomResource):
    """The tree of network domains, read from node labels. The one named `default` is used."""

    GROUP: ClassVar[str] = "scheduling.koordinator.sh"
    PLURAL: ClassVar[str] = "clusternetworktopologies"

    api_version: Text = Field(
        default="scheduling.koordinator.sh/v1alpha1",
        description="The group and version that the object is written in.",
    )
    kind: Text = Field(
        default="ClusterNetworkTopology",
        description="The kind of the object: ClusterNetworkTopology.",
    )
    spec: ClusterNetworkTopologySpec = Field(description="The layers of the network.")
    status: ClusterNetworkTopologyStatus = Field(
        default=ClusterNetworkTopologyStatus(),
        description=("The tree that the labels of the nodes make. Written by the scheduler."),
    )
