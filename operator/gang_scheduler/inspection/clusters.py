"""A cluster at one moment, whatever it was read from."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gang_scheduler import policy
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.snapshot_files import Told
from gang_scheduler.state.cache import Cache


class Source(enum.StrEnum):
    """Where an answer comes from. WRITTEN is what the scheduler wrote, and no more than that."""

    LIVE = "live"
    FILES = "files"
    WRITTEN = "written"


Objects = Mapping[str, Sequence[Mapping[str, Any]]]
"""Objects as they are on the API server, by the name of their kind as that of a CRD."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """All that is known of a cluster: `cache` is filled, and changes no more.

    `read_at` is in seconds since the epoch. `settings_of` names the operator that `policy` is of,
    "" where these are the defaults, or flags. `notes` are for stderr, a line each. `unread` are the
    kinds that may not be listed, by their names as those of CRDs.

    Of a cluster that is WRITTEN only one `namespace` is known, and no node: `written` has its
    PodGroups and pods, with what the scheduler wrote into them.
    `namespaces` are those that files say something of.
    `of_snapshot`: the files are a snapshot of an API server, with the Events of its scheduler that
    were `told`; None where it has none.
    """

    cache: Cache
    policy: Policy
    read_at: int
    source: Source
    settings_of: str = ""
    notes: tuple[str, ...] = field(default=())
    unread: tuple[str, ...] = ()
    namespace: str = ""
    written: Objects = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    of_snapshot: bool = False
    told: Sequence[Told] | None = None

    @property
    def profile(self) -> Profile:
        """The policies that decisions are made by."""
        return policy.profile(self.policy)

    def snapshot(self) -> Snapshot:
        """Return what a cycle would decide on now. Dear: call it once."""
        self.cache.find_gone_nodes()
        return self.cache.snapshot(self.read_at)
