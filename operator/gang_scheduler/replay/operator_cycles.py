"""The cycles of the operator on a cache that jobs fill: snapshot, decide, take in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gang_scheduler import from_settings
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import take_in
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Placed, Plan, Preemption
from gang_scheduler.model.pods import PodPhase
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.replay import run
from gang_scheduler.replay.gangs import Objects
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.run import Decided
from gang_scheduler.replay.scenarios import GPU_TYPE, Scenario
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.simulation.objects import filled
from gang_scheduler.state import kinds


class Operator:
    """Does the work of `run` in virtual time. Writes are carried out at once."""

    def __init__(self, scenario: Scenario, rules: run.Rules) -> None:
        given = scenario.policy
        self.cache = filled(scenario.objects, given)
        self.objects = objects_of(scenario)
        self._profile, self._naming = from_settings.profile(given), from_settings.naming(given)
        self._lost = LostNominations(self.cache, self._naming)
        self._latency = rules.bind_latency + rules.start_latency
        self._groups = kinds.of(POD_GROUPS).store(self.cache)
        self._nodes = {node.name: node for node in scenario.nodes}
        self._keys: dict[GangKey, str] = {}
        self._uids: dict[str, dict[int, str]] = {}
        self._decided = Decided()
        self._now = 0
        self._someone_waits = False
        self._unplaced: set[str] = set()
        self.failures = 0
        """How many internal errors there were about single gangs."""

    def come(self, job: Job, numbers: Sequence[int], now: int, life: int) -> None:
        """Take in waiting pods; together with the first ones, the PodGroup."""
        uids = self._uids.get(job.key)
        if uids is None:
            uids = self._uids[job.key] = {}
            self._keys[self.objects.key_of(job)] = job.key
            group = self.objects.read_group(job)
            if group is not None:
                self.cache.upsert(self._groups, group)
        # A pod without a PodGroup keeps its age: nothing else shows how long the job has waited.
        created_at = job.submit if job.pods == 1 else now
        for pod in self.objects.read_pods(job, list(numbers), created_at, life):
            uids[pod.rank[0]] = pod.uid
            self._unplaced.add(pod.uid)
            self.cache.upsert_pod(pod)

    def go(self, job: Job, numbers: Iterable[int]) -> None:
        """Forget pods."""
        uids = self._uids[job.key]
        for number in numbers:
            uid = uids.pop(number)
            self._unplaced.discard(uid)
            self.cache.delete_pod(uid)

    def forget(self, job: Job) -> None:
        """Forget the PodGroup."""
        key = self.objects.key_of(job)
        if job.pods > 1:
            group = f"group-{job.namespace}-{self.objects.name_of(job)}"
            self.cache.delete(self._groups, group)
        self._keys.pop(key, None)
        self._uids.pop(job.key, None)

    def node(self, name: str, *, up: bool, is_open: bool = True) -> None:
        """Take in that a node has become ready or not ready, and whether it takes more pods."""
        since, node = 0 if up else self._now, self._nodes[name]
        closed = node.unschedulable or not is_open
        self.cache.upsert(
            self.cache.node_store,
            replace(node, ready=up, not_ready_since=since, unschedulable=closed),
        )

    def cycle(self, now: int) -> Decided:
        """Run a cycle as the operator does, at this time."""
        self._now, self._decided = now, Decided()
        plan = self._plan(now)
        taken = take_in(self.cache, plan, now, lost_nominations=self._lost, writers=self)
        self.failures += len(taken.plan.failures)
        self._someone_waits = bool(self._unplaced)
        self._decided.unsearched = bool(plan.unsearched)
        for each in plan.reservations:
            for gang in each.gangs:
                if each.start is not None and gang.key in self._keys:
                    self._decided.promised[self._keys[gang.key]] = each.start
        return self._decided

    def _plan(self, now: int) -> Plan:
        """Return the operator's plan. Cheap while all gangs find free room at once.

        In that case no gang needs the list of evictable pods, which costs most in a cluster with
        many running gangs.
        """
        snapshot = self.cache.snapshot_to_place(now)
        if self._all_may_fit(snapshot):
            plan = schedule(snapshot, self._profile, to_the_end=True)
            if plan == Plan(plan.placed):
                return plan
        return schedule(self.cache.with_bound_pods(snapshot), self._profile, to_the_end=True)

    def _all_may_fit(self, snapshot: Snapshot) -> bool:
        """Return whether all waiting pods have just come, and only a lack of room can stop them."""
        if self._someone_waits or snapshot.nominated:
            return False
        tried = sum(len(gang.pending) for group in snapshot.groups for gang in group.gangs)
        leaving = self.cache.evictable_pods.leaving_for(snapshot.groups, snapshot.taken_at)
        return leaving is None and tried == len(self._unplaced)

    def next_wake(self, patient_until: int) -> int | None:
        """Return when a gang is to be tried again even if nothing has changed.

        Before `patient_until`, it returns only times at which something is known to expire.
        """
        wake = self.cache.next_retry()
        if wake is None or wake <= self._now or wake >= patient_until:
            return wake
        known = self.cache.next_known_retry(self._now)
        return patient_until if known is None else min(patient_until, known)

    # The writers of a plan.

    def stop_preempting(self, uids: Iterable[str]) -> None:
        """Do nothing: victims leave, even if their preemptor no longer needs the room."""

    def bind(self, together: Sequence[Placed]) -> None:
        """Let the members run."""
        for placed in together:
            nodes = {}
            for bind in placed.binds:
                nodes[bind.pod.rank[0]] = bind.node
                self._unplaced.discard(bind.pod.uid)
                at = self._now + self._latency
                self.cache.upsert_pod(
                    revised(bind.pod, node=bind.node, phase=PodPhase.RUNNING, started_at=at)
                )
            self._decided.placed.append(run.Placed(self._keys[placed.gang.key], nodes))

    def is_preempting(self, _: Preemption) -> bool:
        """Return False: no preemption is under way between cycles."""
        return False

    def preempt(self, preemption: Preemption) -> None:
        """Note the victims, and that they yield."""
        self.cache.evictions.note(preemption, self._now)
        numbers: dict[str, list[int]] = {}
        for victim in preemption.victims:
            by = self._naming.preemptor(preemption, victim.gang.namespace)
            self.cache.decisions.preempted(victim.gang, by)
            numbers.setdefault(self._keys[victim.gang], []).append(victim.pod.rank[0])
        self._decided.evicted += [run.Evicted(key, each) for key, each in numbers.items()]

    def admit(self, _: Admission) -> None:
        """Do nothing: no job waits suspended."""

    def suspend(self, _: Suspension) -> None:
        """Do nothing: no job was suspended."""

    def layer_labels(self) -> tuple[str, ...]:
        """Return the labels that name the domain of a node in the lowest layer above the nodes."""
        specs = self.cache.topologies.tree_specs()
        layers = specs[0].layers[:-1] if specs else ()
        return layers[-1].label_keys if layers else ()


def objects_of(scenario: Scenario) -> Objects:
    """Return the function that creates the objects of jobs for a cluster."""
    return Objects(
        scenario.policy.rules.gangs.scheduler_names[0],
        from_settings.membership(scenario.policy),
        queued=scenario.has_queues,
        gpu_types=types_of(scenario.nodes),
        gpu_resource=gpu_of(scenario),
    )


def gpu_of(scenario: Scenario) -> str:
    """Return the name of the GPU resource on these nodes."""
    known = scenario.policy.rules.queues.gpu_resources
    there = {name for node in scenario.nodes for name, _ in node.allocatable}
    return next((name for name in known if name in there), known[0])


def types_of(nodes: Iterable[Node]) -> Mapping[str, str]:
    """Return the GPU types of nodes, by their names in lower case."""
    labels = (node.labels.get(GPU_TYPE) for node in nodes)
    return {label.lower(): label for label in labels if label}
