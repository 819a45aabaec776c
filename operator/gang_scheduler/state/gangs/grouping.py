"""Groups of gangs for the scheduler, and why a gang is held back for a while or for good."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.internal_errors import confined
from gang_scheduler.model import refs
from gang_scheduler.model.causes.gangs import InternalError, ModeBehindPodGroup, ModeNotAllowed
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup, PreemptionBlock, Role
from gang_scheduler.model.pods import Pod, one_of_each, rank_key
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import Cause, Problem, Reason
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey, GangName
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs import group_topology, plan_annotations
from gang_scheduler.state.gangs.gang_info import MOST_ROUNDS, ROUNDS_SECONDS, GangInfo
from gang_scheduler.state.gangs.group_graph import GroupGraph
from gang_scheduler.state.gangs.group_topology import MisplacedRequests
from gang_scheduler.state.gangs.observed import Version
from gang_scheduler.state.gangs.retries import Retries
from gang_scheduler.state.gangs.workloads import JobSizes
from gang_scheduler.state.queues.queues_of_gangs import QueuesOfGangs
from gang_scheduler.workloads import table

# Groups as the scheduler last saw them, kept until they would change.


class _Kept(NamedTuple):
    """The group of a gang, and the version of the gang from which it was made."""

    group: GangGroup
    version: Version
    number: int


class GroupMemo:
    """Keeps a group until one of its gangs has a new version."""

    def __init__(self, infos: Mapping[GangKey, GangInfo]) -> None:
        self._infos = infos
        self._kept: dict[GangKey, _Kept] = {}

    def keep(self, group: GangGroup) -> None:
        """Keep a group that changes only if one of its gangs changes."""
        for gang in group.gangs:
            version = self._infos[gang.key].version
            self._kept[gang.key] = _Kept(group, version, version.number)

    def release(self, keys: Iterable[GangKey]) -> None:
        """Drop the groups of these gangs to save memory, although they are still valid."""
        for key in keys:
            self._kept.pop(key, None)

    def get(self, key: GangKey) -> GangGroup | None:
        """Return the kept group of a gang; None if it must be made again."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        group = kept.group
        if len(group.gangs) == 1:
            return group if kept.version.number == kept.number else None
        for gang in group.gangs:
            mate = self._kept.get(gang.key)
            if mate is None or mate.group is not group or mate.version.number != mate.number:
                return None
        return group

    def not_kept(self, keys: Iterable[GangKey]) -> set[GangKey]:
        """Return the gangs that have changed since their group was kept, or have no kept group."""
        known = self._kept
        return {
            key
            for key in keys
            if (kept := known.get(key)) is None or kept.version.number != kept.number
        }


# Whether a gang may evict other gangs to make room, and the reason if not.


class PreemptionEligibility:
    """Says whether a gang may evict pods to make room, and if not, why."""

    def __init__(self, evictable_pods: EvictablePods) -> None:
        self._evictable_pods = evictable_pods

    def why_not(self, gang: Gang, info: GangInfo, now: int) -> PreemptionBlock | None:
        """Return the reason why the gang may not evict pods now; None if it may.

        Linear in members.
        """
        if not self._evictable_pods.rules.preemption:
            return PreemptionBlock(BlockCause.SWITCHED_OFF)
        if info.observed.summary.never_preempts:
            members = one_of_each(info.observed.living)
            never_preempting = min((pod for pod in members if not pod.preempts), key=rank_key)
            return PreemptionBlock(BlockCause.POLICY_NEVER, pod=never_preempting.key)
        recent = sum(1 for at in info.preemptor.rounds if now - at < ROUNDS_SECONDS)
        spent = MOST_ROUNDS if recent >= MOST_ROUNDS else 0
        if self._is_under_way(gang, info, now):
            return PreemptionBlock(BlockCause.UNDER_WAY, rounds=spent)
        return PreemptionBlock(BlockCause.TOO_MANY_ROUNDS, rounds=spent) if spent else None

    def may_change(self, gang: Gang, info: GangInfo) -> bool:
        """Return whether the answer may change later without a change of the gang."""
        if info.preemptor.under_way is not None or info.preemptor.rounds:
            return True
        return info.observed.summary.nominated and any(True for _ in gang.nominated_members())

    def _is_under_way(self, gang: Gang, info: GangInfo, now: int) -> bool:
        """Return whether pods leave that were evicted for the gang, or from its nominated nodes."""
        leaving, started = self._evictable_pods.leaving, info.preemptor.under_way
        if started is not None and any(leaving.is_awaited(uid, now) for uid in started.victims):
            return True
        if not info.observed.summary.nominated:
            return False
        nodes = [pod.nominated for pod in gang.nominated_members()]
        if len(nodes) < max(1, gang.lacking) or leaving.has_victims_on(nodes):
            return False  # The plan is made again.
        return any(pod.priority < gang.priority for pod in leaving.on(nodes, now))


TOTAL_SECONDS = 2
"""A complete quorum waits this long for the other expected members, to place all together."""
LAYER_SECONDS = 2
"""A gang waits this long for the tree of a layer that it only prefers.

A ClusterNetworkTopology may be created together with the gang, and just after it.
"""
PATIENCE_SECONDS = 10
"""A gang waits this much longer for further Jobs before it is called impossible."""


class Patience(NamedTuple):
    """The time to wait for pods and trees that may still come, in seconds."""

    total_seconds: int = TOTAL_SECONDS
    jobs_seconds: int = PATIENCE_SECONDS
    layer_seconds: int = LAYER_SECONDS


NOTHING_COMES = Patience(0, 0, 0)
"""No more pods and trees will come."""


class _Asked(NamedTuple):
    """The requests of one gang that all gangs of its group must share."""

    topology_request: TopologyRequest | None
    queue: QueueRef | None


ASKS_NOTHING: Final = _Asked(None, None)


class _Formed(NamedTuple):
    """The group of a gang.

    `whole` are all gangs of the group. `starting` are those that neither run nor have succeeded;
    only the gang itself if it was whole before. `problem`: why the group cannot start.
    """

    whole: tuple[GangKey, ...]
    starting: tuple[GangKey, ...]
    problem: Problem | None


class Grouping:
    """Makes groups of gangs that start together, and keeps a group that would be the same again.

    A gang whose status changes because of its group is added to `changed`. A gang that must be
    tried at a known moment is added to `retries`. `layers` are the names of the existing topology
    layers. `elastic_kinds` are the kinds of workloads whose number of replicas is changed.
    `patience` may be changed before the first use.
    """

    def __init__(
        self,
        infos: Mapping[GangKey, GangInfo],
        schedulers: frozenset[str],
        *,
        job_sizes: JobSizes,
        misplaced_requests: MisplacedRequests,
        preemption_eligibility: PreemptionEligibility,
        retries: Retries,
        layers: Callable[[], Collection[str]],
        changed: set[GangKey],
        queues: QueuesOfGangs,
        elastic_kinds: Collection[str] = (),
    ) -> None:
        self._infos = infos
        self._schedulers = schedulers
        self._elastic_kinds = elastic_kinds
        self._job_sizes = job_sizes
        self._misplaced_requests = misplaced_requests
        self._preemption_eligibility = preemption_eligibility
        self._retries = retries
        self._layers = layers
        self._expecting_layers: set[GangKey] = set()
        self._placed: set[GangKey] = set()
        self._changed = changed
        self._queues = queues
        self.patience = Patience()
        self._graph = GroupGraph(self._resolve)
        self._memo = GroupMemo(infos)
        self._asked: dict[GangKey, _Asked] = {}
        self._made = 0
        self._woken: dict[GangKey, tuple[GangKey, ...]] = {}
        """The groups that were woken since `groups` was called, by their first gang."""

    def regroup(self, key: GangKey) -> set[GangKey]:
        """Update the group of a gang by the gangs it names; return gangs whose group changes."""
        observed = self._infos[key].observed
        spec = observed.spec
        concerned = self._set_names(key, spec.options.groups if spec else ())
        asked = self._asks_of_group(key, observed.topology_request)
        if self._asked.get(key, ASKS_NOTHING) != asked:
            # A request holds for the whole group, even after its own gang has started.
            self._asked[key] = asked
            concerned.add(key)
        return concerned

    def _asks_of_group(self, key: GangKey, topology_request: TopologyRequest | None) -> _Asked:
        resolved = None if self._graph.is_alone(key) else self._queues.of(key)
        return _Asked(topology_request, None if resolved is None else resolved.ref)

    def is_named(self, key: GangKey) -> bool:
        """Return whether a gang names this one."""
        return self._graph.is_named(key)

    def touched(self, key: GangKey) -> bool:
        """Note that a gang has changed, before `regroup`; return whether another one names it."""
        return self._graph.changed(key)

    def forget(self, key: GangKey) -> set[GangKey]:
        """Note that a gang is going; return the gangs whose group this changes."""
        self._asked.pop(key, None)
        self._expecting_layers.discard(key)
        self._memo.release([key])
        return self._set_names(key, ())

    def not_kept(self, keys: Iterable[GangKey]) -> set[GangKey]:
        """Return the gangs that have changed or have no kept group."""
        return self._memo.not_kept(keys)

    def take_expecting_layers(self) -> set[GangKey]:
        """Return the gangs that waited for a layer since the last call."""
        found, self._expecting_layers = self._expecting_layers, set()
        return found

    def take_placed(self) -> set[GangKey]:
        """Return the gangs whose groups were found completely bound since the last call."""
        found, self._placed = self._placed, set()
        return found

    def take_made(self) -> int:
        """Return the number of gangs that were made since the last call, without kept ones."""
        made, self._made = self._made, 0
        return made

    def release(self, keys: Iterable[GangKey]) -> None:
        """Drop the kept groups of these gangs; they are made again when they are due."""
        self._memo.release(keys)

    def release_members(self, keys: Iterable[GangKey]) -> None:
        """Drop the virtual members of the groups of these gangs to save memory."""
        for key in keys:
            group = self._memo.get(key)
            if group is not None:
                group.forget_members()

    def gangs_of_group(self, key: GangKey) -> tuple[GangKey, ...]:
        """Return the gangs of the gang's own group, this gang included."""
        return self._graph.group_of(key)[0]

    def mates(self, keys: Iterable[GangKey]) -> set[GangKey]:
        """Return all gangs of the groups of these gangs."""
        found: set[GangKey] = set()
        for key in keys:
            if key not in found:
                found.update(self.gangs_of_group(key))
        return found

    def groups(self, keys: Iterable[GangKey], now: int) -> Iterator[GangGroup]:
        """Yield the groups of these gangs that can be tried now."""
        seen: set[GangKey] = set()
        self._woken.clear()
        for key in keys:
            if key in seen:
                continue
            group = self._memo.get(key)
            if group is None:
                group = self._guarded(key, seen, now)
            else:
                for gang in group.gangs:
                    seen.add(gang.key)
            if group is not None:
                yield group

    def with_more(self, key: GangKey, pods: tuple[Pod, ...], now: int) -> GangGroup:
        """Return the group of a running gang, as if these members waited."""
        self._woken.clear()
        group = self._as_group(self._group_of(key, now), now)
        gangs = (_with_more(gang, pods) if gang.key == key else gang for gang in group.gangs)
        return replace(group, gangs=tuple(gangs))

    def _guarded(self, key: GangKey, seen: set[GangKey], now: int) -> GangGroup | None:
        """Return the group of a gang if it is due; if an error occurs, set the gang aside."""
        with confined("assemble", key) as step:
            return self._due(key, seen, now)
        return self._failed(key, step.error) if step.error is not None else None

    def _due(self, key: GangKey, seen: set[GangKey], now: int) -> GangGroup | None:
        """Return the group of a gang, if it can be tried now, and no gang of it was `seen` yet.

        Most gangs have no waiting member, and need no group.
        """
        formed = self._group_of(key, now)
        if seen.issuperset(formed.starting):
            return None  # Another gang of the group, which has ended successfully, is due, too.
        seen.update(formed.starting)
        if self._is_held(formed) or self._rests(formed.starting, now):
            return None
        if self._expects_more(formed.starting, now):
            return None
        if self._expects_layers(formed.starting, now):
            return None
        if not any(self._infos[key].has_pending(self._schedulers) for key in formed.starting):
            self._memo.release(formed.starting)
            self._placed.update(formed.starting)
            return None
        return self._as_group(formed, now)

    def _failed(self, key: GangKey, error: Exception) -> GangGroup | None:
        """Return a gang that an internal error keeps from being tried, for its verdict."""
        pods = self._infos[key].observed.members.values()
        pending = tuple(
            pod for pod in pods if pod.living and not pod.node and pod.scheduler in self._schedulers
        )
        problem = Problem(Reason.INTERNAL_ERROR, InternalError.of(error))
        gang = Gang(key, "", 0, 0, 1, pending, problem=problem)
        return GangGroup((gang,)) if pending else None

    # The gangs of a group.

    def _group_of(self, key: GangKey, now: int) -> _Formed:
        """Return the group of a gang, and the gangs of it that must start together with it."""
        self._settle(key, now)
        keys, problem = self._graph.group_of(key)
        if self._infos[key].attempt.was_whole:
            # The gang has started: no other gang of the group holds it back any more.
            return _Formed(keys, (key,), None)
        for each in keys:
            if each != key:
                self._settle(each, now)
        starting = tuple(each for each in keys if not self._is_done(self._infos[each]))
        return _Formed(keys, starting, problem)

    def _settle(self, key: GangKey, now: int) -> None:
        info = self._infos[key]
        info.attempt.spare(self._job_sizes.spared(info))
        transition = info.settle(now)
        if transition.is_news:
            self._changed.add(key)
        if transition.became_whole:
            self._wake_mates(key, now)

    def _wake_mates(self, key: GangKey, now: int) -> None:
        """Let the gangs of a group be due now, once for all its gangs that become whole."""
        mates = self.gangs_of_group(key)
        if self._woken.get(mates[0]) is mates:
            return
        self._woken[mates[0]] = mates
        for mate in mates:
            self._retries.at(mate, now)

    def _is_held(self, formed: _Formed) -> bool:
        """Return whether a gang with room waits for its claims or pods: no member joins it yet."""
        for info in [self._infos[key] for key in formed.starting]:
            if info.awaits_pods:
                return True  # Its workload was started, and the room is kept for its pods.
            if info.volume_waits.of_quorum and not info.attempt.was_whole:
                return True
        return False

    def _rests(self, keys: Sequence[GangKey], now: int) -> bool:
        """Return whether gangs rest because their workload was started in vain."""
        until = max([self._infos[key].rests_until for key in keys], default=0)
        if until <= now:
            return False
        for key in keys:
            self._retries.at(key, until, until)
        return True

    def _is_done(self, info: GangInfo) -> bool:
        """Return whether a group needs no more from a gang: it runs, or has ended successfully."""
        attempt = info.attempt
        return attempt.was_whole or (not info.observed.living and attempt.succeeded_wholly())

    def _expects_more(self, keys: Sequence[GangKey], now: int) -> bool:
        """Return whether a quorum waits a moment for its other expected members."""
        for info in [self._infos[key] for key in keys]:
            spec, attempt = info.observed.spec, info.attempt
            total = spec.options.total if spec else None
            total = total or info.scaling.most_at_start
            if total is None or attempt.quorum_since is None or attempt.was_whole:
                continue
            until = attempt.quorum_since + self.patience.total_seconds
            if now < until and len(info.observed.living) < total:
                for mate in keys:
                    self._retries.at(mate, until, until)
                return True
        return False

    def _expects_layers(self, keys: Sequence[GangKey], now: int) -> bool:
        """Return whether a quorum waits a moment for a tree with a layer that it prefers."""
        infos = [self._infos[key] for key in keys]
        if not any(self._prefers_unknown(info.observed.topology_request) for info in infos):
            return False
        since = max(info.attempt.quorum_since or 0 for info in infos)
        until = since + self.patience.layer_seconds
        if now >= until or any(info.attempt.was_whole for info in infos):
            return False
        self._expecting_layers.update(keys)
        for key in keys:
            self._retries.at(key, until, until)
        return True

    def _prefers_unknown(self, request: TopologyRequest | None) -> bool:
        if request is None:
            return False
        prefer = request.prefer
        return any(not each.by_label and each.name not in self._layers() for each in prefer)

    def _set_names(self, key: GangKey, names: tuple[GangName, ...]) -> set[GangKey]:
        """Note the names that a gang mentions; return the gangs whose group this changes.

        The gangs that name this gang are always among them. If the names have changed, this gang
        and the gangs of the added and dropped names are, too.
        """
        if not names and self._graph.is_alone(key):
            return set()
        others = self._graph.set_names(key, names)
        # A gang can hold back the gangs that it names.
        concerned = self._graph.concerned(key.called) | self._all_called(others)
        if others:
            concerned.add(key)
        self._queues.regrouped |= bool(concerned or names)
        for mate in concerned | self._all_called(names):
            self._infos[mate].related_object_changed()
        return concerned

    def _all_called(self, names: Iterable[GangName]) -> set[GangKey]:
        return {key for key in map(self._resolve, names) if key is not None}

    def _resolve(self, name: GangName) -> GangKey | None:
        """Return the gang of a name; if several have it, the first source counts."""
        keys = (GangKey(source.name, *name) for source in table.SOURCES)
        return next((key for key in keys if key in self._infos and self._exists(key)), None)

    def _exists(self, key: GangKey) -> bool:
        return key.source != refs.SINGLE.name and self._infos[key].observed.spec is not None

    # Groups for the scheduler.

    def _as_group(self, formed: _Formed, now: int) -> GangGroup:
        """Return the group for the scheduler, with the common topology request of its gangs."""
        whole = [self._infos[key] for key in formed.whole]
        found = group_topology.common(whole, formed.starting)
        topology_request = None if isinstance(found, Problem) else found
        gangs = tuple(self._gang(key, topology_request, now) for key in formed.starting)
        self._made += len(gangs)
        gangs = self._with_partially_bound(formed, gangs)
        wrong = found if isinstance(found, Problem) else group_topology.podset_problem(gangs)
        wrong = wrong or self._queues.group_problem(formed.whole)
        has_bound_members = topology_request is not None or group_topology.shared(gangs)
        # Errors come before names of gangs that are only missing yet.
        is_missing = formed.problem and formed.problem.reason is not Reason.INVALID_SPEC
        group = GangGroup(
            gangs=gangs,
            problem=(wrong or formed.problem) if is_missing else (formed.problem or wrong),
            topology_request=topology_request,
            started=group_topology.started(whole, formed.starting) if has_bound_members else (),
            declared=frozenset(formed.whole if len(formed.whole) > 1 else ()),
        )
        if formed.whole == formed.starting and all(map(self._lasts, gangs)):
            self._memo.keep(group)
        else:
            self._memo.release(formed.starting)
        return group

    def _with_partially_bound(self, formed: _Formed, gangs: tuple[Gang, ...]) -> tuple[Gang, ...]:
        """Mark the gangs that a crash kept from starting with the others of their group."""
        others = set(formed.whole).difference(formed.starting)
        if not others:
            return gangs
        started = [self._infos[key].observed.living for key in sorted(others)]
        return tuple(
            replace(gang, partially_bound=True)
            if not (gang.partially_bound or gang.was_whole)
            and plan_annotations.is_left_behind(gang.pending, started)
            else gang
            for gang in gangs
        )

    def _lasts(self, gang: Gang) -> bool:
        """Return whether the group changes only if the gang itself changes."""
        may_change = self._preemption_eligibility.may_change(gang, self._infos[gang.key])
        return bool(gang.pending) and gang.complete and not may_change

    def _gang(self, key: GangKey, topology_request: TopologyRequest | None, now: int) -> Gang:
        info = self._infos[key]
        gang = info.as_gang(self._schedulers, gathers=topology_request is not None)
        block = self._preemption_eligibility.why_not(gang, info, now) if gang.pending else None
        if block is not None:
            gang = revised(gang, preemption_block=block)
        gang = self._queues.with_queue(self._checked(gang, now))
        absent = self._job_sizes.absent(info) if gang.queue is not None else ()
        if absent:
            gang = revised(gang, absent=absent)
        return group_topology.checked(gang, topology_request)

    def _checked(self, gang: Gang, now: int) -> Gang:
        """Mark a gang that cannot be complete yet, because its Jobs make too few pods at once.

        A pod is marked, too, if its Job or JobSet asks for a gang in a place where the pod does not
        get it.
        """
        misplaced = self._misplaced_requests.problem(gang)
        if gang.problem is None and misplaced is not None:
            return replace(gang, problem=misplaced)
        if gang.problem is None and (unlisted := self._unlisted(gang)):
            return replace(gang, problem=unlisted)
        if gang.problem is not None or gang.complete:
            return gang
        problem = self._job_sizes.problem(gang)
        if problem is None:
            return gang
        # Another Job of the gang may still come.
        youngest = math.ceil(max(pod.created_at for pod in gang.pending))
        until = youngest + self.patience.jobs_seconds
        if now < until:
            self._retries.at(gang.key, until, until)
            return gang
        return replace(gang, problem=problem)

    def _unlisted(self, gang: Gang) -> Problem | None:
        """Return a problem of a gang that would start in a mode that the settings forbid.

        A running gang keeps running, and lost members are replaced.
        """
        size = gang.elastic_size
        if size is None or not size.elastic.by_replicas or gang.was_whole:
            return None
        if gang.key.source in self._elastic_kinds:
            return None
        cause: Cause = ModeBehindPodGroup()
        if gang.key.source in table.BY_REPLICAS:
            cause = ModeNotAllowed(gang.key.source)
        return Problem(Reason.UNSUPPORTED_FEATURE, cause)


def _with_more(gang: Gang, pods: tuple[Pod, ...]) -> Gang:
    """Return a gang with other waiting members, whose roles may have as many more members."""
    more = Counter(pod.role for pod in pods)

    def widened(role: Role) -> Role:
        most = role.max_member
        return role if most is None else role._replace(max_member=most + more[role.name])

    return revised(gang, pending=pods, roles=tuple(map(widened, gang.roles)))
