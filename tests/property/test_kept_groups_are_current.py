"""Law: what is kept of gangs, and their groups, is what would be made of what is known now.

Random events happen to a queue of gangs. After each, what is kept of each gang and the groups that
are due are compared with those of a copy that has to work everything out again.
"""

import copy
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod, PodPhase, one_of_each
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey, GangName, JobPods
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.gangs.grouping import GroupMemo
from gang_scheduler.state.gangs.observed import Observed
from support.builders import SCHEDULER, gang_spec, pod
from support.thoroughness import cases

START = 1000
KEYS = [
    GangKey("PodGroup", "team", "a"),
    GangKey("PodGroup", "team", "b"),
    GangKey("PodGroup", "other", "c"),
    GangKey("annotation", "team", "d"),
]
NAMES = [key.called for key in KEYS]
JOBS = ["", "job-1", "job-2"]
VICTIM = pod("victim", namespace="team", node="n9")
LAYER = TopologyRequest(must=(LayerRef("rack"),), where="here")

Event = Callable[[GangQueue, int], None]
some_keys = st.sampled_from(KEYS)
DRAWS = st.integers(0, 3)
seldom = DRAWS.map(lambda number: number == 0)


@st.composite
def members(draw: st.DrawFn, key: GangKey) -> Pod:
    annotations = {}
    if key.source == "annotation":
        annotations["gang.scheduling.koordinator.sh/min-available"] = draw(st.sampled_from("12"))
    found = pod(
        f"{key.name}-{draw(DRAWS)}",
        gang=key.name if key.source == "PodGroup" else "",
        namespace=key.namespace,
        node=draw(st.sampled_from(["", "", "n1"])),
        nominated="n2" if draw(seldom) else "",
        priority=draw(st.sampled_from([0, 0, 5])),
        phase=draw(st.sampled_from(["Pending", "Pending", "Running", "Succeeded"])),
        deleting=draw(seldom),
        created_at=draw(st.sampled_from([0, 900])),
        annotations=annotations,
    )
    is_bound = found.node != "" and not found.terminal
    return replace(
        found,
        job_uid=draw(st.sampled_from(JOBS)),
        assumed=is_bound and draw(st.booleans()),
        node=found.node if found.phase is not PodPhase.RUNNING else "n1",
    )


@st.composite
def specs(draw: st.DrawFn, key: GangKey) -> GangSpec:
    names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
    groups: list[GangName] = draw(names) if draw(st.booleans()) else []
    return replace(
        gang_spec(key.name, draw(st.integers(1, 3)), namespace=key.namespace),
        key=key,
        uid=f"uid-{key}",
        options=GangOptions(groups=tuple(groups), total=4 if draw(seldom) else None),
        priority=7 if draw(seldom) else None,
        was_scheduled=draw(seldom),
        topology_request=LAYER if draw(seldom) else None,
    )


# What may happen.


@st.composite
def of_members(draw: st.DrawFn) -> Event:
    key = draw(some_keys)
    member = draw(members(key))
    # Waiting members most of all: only of these groups are kept.
    if draw(st.booleans()):
        member = replace(member, node="", phase=PodPhase.PENDING, deleting=False, assumed=False)

    def come(queue: GangQueue, _: int) -> None:
        queue.upsert_member(key, member)

    def go(queue: GangQueue, _: int) -> None:
        queue.delete_member(key, member.uid)

    def change_class(queue: GangQueue, _: int) -> None:
        info = queue.infos.get(key)
        if info is not None and member.uid in info.observed.members:
            known = info.observed.members[member.uid]
            queue.member_reclassified(key, replace(known, pod_class=pod("x", cpu=2).pod_class))

    return draw(st.sampled_from([come, come, come, go, change_class]))


@st.composite
def of_specs(draw: st.DrawFn) -> Event:
    key = draw(st.sampled_from(KEYS[:3]))
    spec = draw(specs(key))

    def come(queue: GangQueue, _: int) -> None:
        queue.upsert_gang_specs("scheduling.sigs.k8s.io", spec.uid, [spec])

    def go(queue: GangQueue, _: int) -> None:
        queue.delete_gang_specs("scheduling.sigs.k8s.io", spec.uid)

    return draw(st.sampled_from([come, come, go]))


@st.composite
def of_the_cluster(draw: st.DrawFn) -> Event:
    key, job = draw(some_keys), draw(st.sampled_from(JOBS[1:]))
    at_once = draw(st.integers(1, 3))
    left = draw(st.integers(0, at_once))
    pods = None if draw(seldom) else JobPods(at_once, left, completions=at_once)

    def known(queue: GangQueue) -> list[GangKey]:
        return [each for each in (key,) if each in queue.infos]

    found: list[Event] = [
        lambda queue, _: queue.upsert_job(job, pods),
        lambda queue, _: queue.topologies_changed(),
        lambda queue, _: queue.matching_pods_placed(known(queue)),
        lambda queue, _: queue.undecided(known(queue)),
        lambda queue, _: queue.nominations_lost(known(queue)),
    ]
    return draw(st.sampled_from(found))


@st.composite
def of_writes(draw: st.DrawFn) -> Event:
    key, joins = draw(some_keys), draw(st.booleans())

    def preempt(queue: GangQueue, now: int) -> None:
        if key in queue.infos:
            Decisions(queue).preempting([key], now, [VICTIM.uid])

    found: list[Event] = [
        preempt,
        lambda queue, _: Decisions(queue).preemption_over([key]),
        lambda queue, _: Decisions(queue).preempted(key, "team/x"),
        lambda queue, _: Decisions(queue).hold(key, joins=joins),
        lambda queue, _: Decisions(queue).let_go(key, joins=joins),
        lambda queue, _: Decisions(queue).bound(key),
    ]
    return draw(st.sampled_from(found))


@st.composite
def cycles(draw: st.DrawFn) -> Event:
    """Return a cycle: each gang that is due gets a verdict, most of them that room is missing."""
    outcomes = st.sampled_from(["short", "short", "short", "invalid", "bound", "failed"])
    ends = draw(st.lists(outcomes, min_size=4, max_size=4))

    def run(queue: GangQueue, now: int) -> None:
        queue.room_freed()
        for group in queue.take_due(now):
            for gang, end in zip(group.waiting, ends, strict=False):
                decide(queue, gang, end, now)

    return run


def decide(queue: GangQueue, gang: Gang, end: str, now: int) -> None:
    unschedulable = Refused(gang, Reason.UNSCHEDULABLE, gang.pending)
    if end == "short":
        Decisions(queue).refused(unschedulable, now)
    elif end == "invalid":
        Decisions(queue).refused(replace(unschedulable, reason=Reason.INVALID_SPEC), now)
    else:
        Decisions(queue).placed(gang.key)
        if end == "failed":
            Decisions(queue).bind_failed(unschedulable, now)
            return
        for each in gang.pending:
            queue.upsert_member(gang.key, replace(each, node="n1", assumed=True))
        Decisions(queue).surplus_bound(gang, gang.pending)


events = st.one_of(of_members(), of_members(), of_specs(), of_the_cluster(), of_writes(), cycles())


# What must be so after each of them.


def anew(queue: GangQueue) -> GangQueue:
    """Return a copy that remembers nothing that follows from something else."""
    made = copy.deepcopy(queue)
    made.grouping._memo = GroupMemo(made.infos)
    for info in made.infos.values():
        observed = info.observed
        observed._living = observed._summary = observed._spec = observed._ranks_apart = None
        observed._spec_is_known = observed._elastic_is_known = False
    return made


def told(observed: Observed) -> list[object]:
    """Return all that follows from the members and objects of a gang."""
    members = one_of_each(observed.living)
    assert observed.summary.bound == sum(1 for pod in members if pod.node)
    assert observed.all_live == all(pod.living for pod in observed.members.values())
    return [
        *(observed.living, observed.summary, observed.all_live, observed.spec, observed.elastic),
        *(observed.priority, observed.ranks_apart, observed.differs, observed.describing_members),
    ]


def check(queue: GangQueue, now: int) -> None:
    kept, made = copy.deepcopy(queue), anew(queue)
    for key, info in kept.infos.items():
        assert told(info.observed) == told(made.infos[key].observed)
    due, expected = kept.take_due(now), made.take_due(now)

    assert not [group for group in due if group not in expected]
    tried = {gang.key for group in due for gang in group.gangs}
    # What mentions a gang that is due is looked at again where no group of that is kept.
    assert all(names_others(made, group) for group in expected if group.gangs[0].key not in tried)
    check_all(kept, now)


def check_all(queue: GangQueue, now: int) -> None:
    """Compare all groups that are kept, also those that are not due."""
    made = anew(queue)
    for key in queue.infos:
        group = queue.grouping._memo.get(key)
        if group is not None:
            assert [group] == list(made.grouping.groups([key], now))


def names_others(queue: GangQueue, group: GangGroup) -> bool:
    described = [queue.infos[gang.key].observed.spec for gang in group.gangs]
    return any(spec is not None and spec.options.groups for spec in described)


def waiting() -> GangQueue:
    """Return a queue of gangs that all lack room, two of them as one group; all are kept."""
    evictable_pods = EvictablePods()
    evictable_pods.upsert(VICTIM, None)
    evictable_pods.decided([VICTIM.uid])
    queue = GangQueue([SCHEDULER], 600, evictable_pods, tuple)
    queue.upsert_job("job-1", JobPods(at_once=3, left=2, completions=3))
    for key in KEYS:
        names = tuple(each for each in NAMES[:2] if each != key.called and key in KEYS[:2])
        if key.source == "PodGroup":
            spec = replace(gang_spec(key.name, 2), key=key, uid=f"uid-{key}")
            spec = replace(spec, options=GangOptions(groups=names))
            queue.upsert_gang_specs("scheduling.sigs.k8s.io", spec.uid, [spec])
        for i in range(2):
            label = key.name if key.source == "PodGroup" else ""
            member = pod(
                f"{key.name}-{i}",
                gang=label,
                namespace=key.namespace,
                annotations={"gang.scheduling.koordinator.sh/min-available": "2"},
            )
            queue.upsert_member(key, replace(member, job_uid=JOBS[i]))
    refuse_all(queue, START)
    return queue


def refuse_all(queue: GangQueue, now: int) -> None:
    queue.room_freed()
    for group in queue.take_due(now):
        for gang in group.waiting:
            decide(queue, gang, "short", now)


@given(st.lists(st.tuples(events, st.booleans()), min_size=1, max_size=12))
@settings(max_examples=cases(100, thorough=2000))
def test_groups_are_those_that_would_be_made_anew(happening: list[tuple[Event, bool]]) -> None:
    queue = waiting()
    for second, (happen, is_tried) in enumerate(happening, START + 1):
        happen(queue, second)
        queue.room_freed()
        check(queue, second)
        if is_tried:
            refuse_all(queue, second)


def test_groups_are_kept_at_all() -> None:
    queue = waiting()

    kept = [queue.grouping._memo.get(key) for key in KEYS]

    assert None not in kept
    assert [["a", "b"], ["a", "b"], ["c"], ["d"]] == [
        [gang.key.name for gang in group.gangs] for group in kept if group is not None
    ]
