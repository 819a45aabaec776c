"""The topology request of members: how close together they must or should be."""

from dataclasses import dataclass, field
from typing import Final

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label key that names the layer of the nodes, in every tree."""


@dataclass(frozen=True, slots=True)
class LayerRef:
    """How a request names a layer: by its name, or by the key of a node label."""

    name: str
    by_label: bool = False


@dataclass(frozen=True, slots=True)
class Slices:
    """Members in runs of `size` ranks, each run inside one domain of the layer.

    The last run may be short, unless `whole`: then members come in whole slices only.
    """

    layer: LayerRef
    size: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """One topology request; an empty one allows all nodes.

    All members must be in one domain of each layer of `must`, and should be in one domain of each
    layer of `prefer`; `upward` also prefers every layer above these. `slices` are hard. `where` is
    the field with the request, for messages; it does not count when requests are compared.
    """

    must: tuple[LayerRef, ...] = ()
    prefer: tuple[LayerRef, ...] = ()
    upward: bool = False
    slices: tuple[Slices, ...] = ()
    where: str = field(default="", compare=False)

    @property
    def is_set(self) -> bool:
        """Whether the request is not empty."""
        return bool(self.must or self.prefer or self.slices)

    @property
    def shared(self) -> "TopologyRequest":
        """The part of the request that members of a podset group have in common."""
        return TopologyRequest(self.must, self.prefer, self.upward, (), self.where)


@dataclass(frozen=True, slots=True)
class GangRequest:
    """The topology request in a pod for its whole gang; None without one.

    `problem` is the fault of the annotation; if it is set, no other field counts.
    """

    topology_request: TopologyRequest | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PodSet:
    """The topology request in a pod's own annotations (Kueue's).

    Podsets of one `group` share a domain. `owner` distinguishes the pods of one workload from pods
    of another workload in the same gang. `problem` is the fault of the annotations; if it is set,
    no other field counts.
    """

    topology_request: TopologyRequest = TopologyRequest()
    group: str = ""
    owner: str = ""
    problem: str = ""
