"""ResourceFlavor: a set of nodes that queues have quotas on. Its shape is that of Kueue's."""

import enum
from typing import ClassVar

from pydantic import Field

from gang_scheduler.api.meta import ATOMIC_LIST, ApiModel, CustomResource, Text

MOST_LABELS = 32


class TaintEffect(enum.StrEnum):
    """What a taint keeps away."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class FlavorTaint(ApiModel):
    """A taint that the nodes have."""

    key: Text = Field(min_length=1, max_length=317, description="The key of the taint.")
    value: Text = Field(default="", max_length=63, description="The value of the taint.")
    effect: TaintEffect = Field(description="NoSchedule, PreferNoSchedule or NoExecute.")


class FlavorToleration(ApiModel):
    """A toleration that gangs of the flavor are given where their pods may be changed."""

    key: Text = Field(default="", max_length=317, description="The key; empty: any.")
    operator: Text = Field(default="", description="Equal, or Exists.")
    value: Text = Field(default="", max_length=63, description="The value of the taint.")
    effect: Text = Field(default="", description="The effect of the taint; empty: any.")


class ResourceFlavorSpec(ApiModel):
    """Which nodes the flavor has."""

    node_labels: dict[Text, Text] | None = Field(
        default=None,
        max_length=MOST_LABELS,
        description="Labels of the nodes. Absent or empty: all nodes.",
    )
    node_taints: tuple[FlavorTaint, ...] = Field(
        default=(),
        max_length=MOST_LABELS,
        description="Taints of the nodes: gangs that do not tolerate them do not get the flavor.",
        json_schema_extra=ATOMIC_LIST,
    )
    tolerations: tuple[FlavorToleration, ...] = Field(
        default=(),
        max_length=MOST_LABELS,
        description="Tolerations for gangs of the flavor, where their pods may be changed.",
        json_schema_extra=ATOMIC_LIST,
    )
    topology_name: Text | None = Field(
        default=None, description="The topology in which gangs of the flavor are placed."
    )


class ResourceFlavor(CustomResource):
    """A set of nodes that queues have quotas on."""

    GROUP: ClassVar[str] = "py-gang-scheduler.io"
    PLURAL: ClassVar[str] = "resourceflavors"

    api_version: Text = Field(
        default="py-gang-scheduler.io/v1alpha1",
        description="The group and version that the object is written in.",
    )
    kind: Text = Field(
        default="ResourceFlavor", description="The kind of the object: ResourceFlavor."
    )
    spec: ResourceFlavorSpec = Field(
        default=ResourceFlavorSpec(), description="Which nodes the flavor has."
    )
