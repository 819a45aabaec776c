"""All kinds that are watched: the one table that every source works through, and the sweep."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.json import Decoder

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.event_handlers import Intake, Object
from gang_scheduler.wire import nodes as node_wire
from gang_scheduler.wire import pods as pod_wire


class Direct(NamedTuple):
    """A way in without a detour through dicts: what reads the bytes, and who takes the result.

    Whatever does not pass here goes the way of all other kinds, and is told of there.
    """

    decoder: Decoder[Any]
    take: Callable[[Intake, str, Any], None]


class Watched(NamedTuple):
    """A kind, in the versions that it may be served in, best first, and who takes its events."""

    versions: tuple[GVR, ...]
    take: Callable[[Intake, Object], None]
    direct: Direct | None = None

    @property
    def name(self) -> str:
        """Its name, in whatever version it is served."""
        return self.versions[0].name


WATCHED: Final = (
    Watched((kinds.NODES,), Intake.node, Direct(Decoder(node_wire.Node), Intake.decoded_node)),
    Watched((kinds.NAMESPACES,), Intake.namespace),
    Watched((kinds.PODS,), Intake.pod, Direct(Decoder(pod_wire.Pod), Intake.decoded_pod)),
    Watched((kinds.POD_GROUPS,), Intake.pod_group),
    Watched((kinds.SCHED_PLUGINS_POD_GROUPS,), Intake.pod_group),
    Watched(kinds.NATIVE_POD_GROUPS, Intake.native_pod_group),
    Watched((kinds.JOBS,), Intake.job),
    Watched((kinds.JOB_SETS,), Intake.job_set),
    Watched((kinds.POD_DISRUPTION_BUDGETS,), Intake.pod_disruption_budget),
    Watched((kinds.CLUSTER_NETWORK_TOPOLOGIES,), Intake.topology),
    Watched(kinds.KUEUE_TOPOLOGIES, Intake.kueue_topology),
    Watched((kinds.PERSISTENT_VOLUME_CLAIMS,), Intake.persistent_volume_claim),
    Watched((kinds.PERSISTENT_VOLUMES,), Intake.persistent_volume),
    Watched((kinds.STORAGE_CLASSES,), Intake.storage_class),
    Watched((kinds.CSI_NODES,), Intake.csi_node),
    Watched((kinds.CSI_DRIVERS,), Intake.csi_driver),
    Watched((kinds.CSI_STORAGE_CAPACITIES,), Intake.csi_storage_capacity),
    Watched((kinds.VOLUME_ATTACHMENTS,), Intake.volume_attachment),
)

DECISIVE: Final = frozenset({kinds.NODES.name, kinds.PODS.name})
"""What must not be long out of date when gangs are decided."""


def require_absent(kind: Watched) -> None:
    """Raise ApiError for a kind that is always served: what answered was no API server yet.

    Believed, that would be an empty cluster, and all of its room would be given away.
    """
    if kind.name in DECISIVE:
        raise ApiError(0, f"{kind.name} are not served")
