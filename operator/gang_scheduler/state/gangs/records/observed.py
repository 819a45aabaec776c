"""What is observed of one gang: its members, and what describes it."""

from collections.abc import Iterator

from gang_scheduler.decode.gangs import gang_specs
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.model import gang_sources
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.records.version import Version

NO_SPEC = GangSpec(GangKey("", "", ""), "")
# Where members describe the gang, and how.
BY_MEMBERS = {
    gang_sources.ANNOTATION.name: gang_specs.by_members,
    gang_sources.SINGLE.name: gang_specs.by_itself,
}


class Observed:
    """The members and specs of a gang, and what follows from these alone, each worked out once.

    `members` are all its pods by uid, ended ones included; those with a node have it, also when the
    binding is only assumed. `specs` are the objects that describe the gang, by uid.
    """

    __slots__ = (
        *("key", "members", "specs", "_version", "_living", "_priorities", "_ranks_apart"),
        *("_spec", "_spec_is_known"),
    )

    def __init__(self, key: GangKey, version: Version) -> None:
        self.key = key
        self.members: dict[str, Pod] = {}
        self.specs: dict[str, GangSpec] = {}
        self._version = version
        self._living: tuple[Pod, ...] | None = None
        self._priorities: set[int] = set()
        self._ranks_apart: bool | None = None
        self._spec: GangSpec | None = None
        self._spec_is_known = False

    def upsert_member(self, pod: Pod) -> None:
        """Add or replace a member."""
        self.members[pod.uid] = pod
        self._priorities.add(pod.priority)
        self._members_changed()

    def delete_member(self, uid: str) -> Pod | None:
        """Forget a member; return it, if it was one."""
        pod = self.members.pop(uid, None)
        if pod is not None:
            self._members_changed()
        return pod

    def upsert_spec(self, gang_spec: GangSpec) -> GangSpec | None:
        """Add or replace what an object says of the gang; return what it said before.

        A new status of the object is taken in, and makes the gang no other one.
        """
        before = self.specs.get(gang_spec.uid)
        self.specs[gang_spec.uid] = gang_spec
        self._spec_is_known = False
        if before != gang_spec:
            self._version.changed()
        return before

    def delete_spec(self, uid: str) -> bool:
        """Forget an object; return whether it described the gang."""
        described = self.specs.pop(uid, None) is not None
        if described:
            self._spec_is_known = False
            self._version.changed()
        return described

    @property
    def spec(self) -> GangSpec | None:
        """What describes the gang; of several objects, the youngest of the first API group."""
        if not self._spec_is_known:
            self._spec, self._spec_is_known = self._find_spec(), True
        return self._spec

    @property
    def min_member(self) -> int:
        """The quorum as described; 1 for a gang that nothing describes."""
        return (self.spec or NO_SPEC).min_member

    @property
    def asks(self) -> TopologyRequest | None:
        """What the gang, or else the first member that asks, wants of the network."""
        podsets = (pod.podset for pod in self.members.values() if pod.podset)
        own = (each.topology_request for each in podsets if each.topology_request.asks)
        return self.topology_request or next(own, None)

    @property
    def topology_request(self) -> TopologyRequest | None:
        """What the gang as a whole asks of the network."""
        return (self.spec or NO_SPEC).topology_request

    @property
    def min_runtime_seconds(self) -> int:
        """How long the gang asks to run before it is evicted; 0 for one that does not."""
        return (self.spec or NO_SPEC).options.min_runtime_seconds

    @property
    def priority(self) -> int:
        """The gang's own, or the lowest of its living members'."""
        own = (self.spec or NO_SPEC).priority
        return min((pod.priority for pod in self.living), default=0) if own is None else own

    @property
    def may_rank_apart(self) -> bool:
        """It has a priority of its own, or members of several: cheap, and sure where False."""
        own = any(each.priority is not None for each in self.specs.values())
        return own or len(self._priorities) > 1

    @property
    def ranks_apart(self) -> bool:
        """Some living member has another priority than the gang."""
        if not self._spec_is_known or self._ranks_apart is None:
            priority = self.priority
            self._ranks_apart = any(pod.priority != priority for pod in self.living)
        return self._ranks_apart

    @property
    def empty(self) -> bool:
        """Nothing is known of the gang any more."""
        return not self.members and not self.specs

    @property
    def living(self) -> tuple[Pod, ...]:
        """The members that count: not ended, not being deleted, not gated."""
        if self._living is None:
            self._living = tuple(pod for pod in self.members.values() if pod.living)
        return self._living

    def with_node(self) -> Iterator[Pod]:
        """Return the living members that have a node."""
        return (pod for pod in self.living if pod.node)

    def bound(self) -> tuple[Pod, ...]:
        """Return the living members that have a node, in rank order."""
        return tuple(sorted(self.with_node(), key=rank_key))

    def _members_changed(self) -> None:
        """Let what follows from the members be worked out anew."""
        self._version.changed()
        self._living = self._ranks_apart = None
        self._spec_is_known = False

    def _find_spec(self) -> GangSpec | None:
        by_members = BY_MEMBERS.get(self.key.source)
        if by_members is not None:
            return by_members(self.key, self.members.values())
        return min(
            self.specs.values(),
            key=lambda each: (each.gvr or ("",), -each.created_at, each.uid),
            default=None,
        )
