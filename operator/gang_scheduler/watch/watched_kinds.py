"""All kinds that are watched: the one table that every source works through, and the sweep."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.json import Decoder

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.event_handlers import EventHandlers, Object
from gang_scheduler.wire import nodes as node_wire
from gang_scheduler.wire import pods as pod_wire


class Direct(NamedTuple):
    """Decodes bytes straight into a struct, without dicts, and hands it to the event handlers.

    An object that cannot be decoded here is read as a dict like all other kinds, and reported
    there.
    """

    decoder: Decoder[Any]
    take: Callable[[EventHandlers, str, Any], None]


class Watched(NamedTuple):
    """A kind, in the versions that it may be served in, best first, and its event handler."""

    versions: tuple[GVR, ...]
    take: Callable[[EventHandlers, Object], None]
    direct: Direct | None = None

    @property
    def name(self) -> str:
        """The name of the kind, the same for all versions."""
        return self.versions[0].name


WATCHED: Final = (
    Watched(
        (kinds.NODES,),
        EventHandlers.node,
        Direct(Decoder(node_wire.Node), EventHandlers.decoded_node),
    ),
    Watched((kinds.NAMESPACES,), EventHandlers.namespace),
    Watched(
        (kinds.PODS,), EventHandlers.pod, Direct(Decoder(pod_wire.Pod), EventHandlers.decoded_pod)
    ),
    Watched((kinds.POD_GROUPS,), EventHandlers.pod_group),
    Watched((kinds.SCHED_PLUGINS_POD_GROUPS,), EventHandlers.pod_group),
    Watched(kinds.NATIVE_POD_GROUPS, EventHandlers.native_pod_group),
    Watched((kinds.JOBS,), EventHandlers.job),
    Watched((kinds.JOB_SETS,), EventHandlers.job_set),
    Watched((kinds.POD_DISRUPTION_BUDGETS,), EventHandlers.pod_disruption_budget),
    Watched((kinds.CLUSTER_NETWORK_TOPOLOGIES,), EventHandlers.topology),
    Watched(kinds.KUEUE_TOPOLOGIES, EventHandlers.kueue_topology),
    Watched((kinds.PERSISTENT_VOLUME_CLAIMS,), EventHandlers.persistent_volume_claim),
    Watched((kinds.PERSISTENT_VOLUMES,), EventHandlers.persistent_volume),
    Watched((kinds.STORAGE_CLASSES,), EventHandlers.storage_class),
    Watched((kinds.CSI_NODES,), EventHandlers.csi_node),
    Watched((kinds.CSI_DRIVERS,), EventHandlers.csi_driver),
    Watched((kinds.CSI_STORAGE_CAPACITIES,), EventHandlers.csi_storage_capacity),
    Watched((kinds.VOLUME_ATTACHMENTS,), EventHandlers.volume_attachment),
)

DECISIVE: Final = frozenset({kinds.NODES.name, kinds.PODS.name})
"""The kinds that must not be long out of date when gangs are decided."""


def require_absent(kind: Watched) -> None:
    """Raise ApiError for a kind that is always served: the API server is not ready yet.

    Without this the cluster would seem empty, and all of its room free.
    """
    if kind.name in DECISIVE:
        raise ApiError(0, f"{kind.name} are not served")
