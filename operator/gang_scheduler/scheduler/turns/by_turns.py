"""One cycle with queues: queues take turns, and in a turn the next gang of the queue is tried.

A group has no turn if a group like it in the same queue failed before, since it would fail in the
same way. A tree has no more turns once it has no quota left for any of its groups, so groups in
full queues cost only a look at the remaining quota. All turns end once the cycle has done its share
of work. Groups without a turn come first in the next cycle, before groups that were tried in this
one.
"""

import heapq
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Final

from gang_scheduler.model.api_words import StopPolicy, Strategy
from gang_scheduler.model.causes.queues import BehindGang, DelaysReserved
from gang_scheduler.model.consequences import Strict
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Failure, IfEmpty, Plan, Refused
from gang_scheduler.model.queues import NONE, FlavorResource, Queue, QueueRef
from gang_scheduler.model.reasons import Problem, Reason, those_with
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle_decisions import A_GROUP
from gang_scheduler.scheduler.ordering.queue_turns import Head, Turns
from gang_scheduler.scheduler.place_or_preempt import Placing, preemption_key
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.turns import lines
from gang_scheduler.scheduler.turns.attempts import Attempt, Attempts
from gang_scheduler.scheduler.turns.full_trees import FullTrees
from gang_scheduler.scheduler.turns.known_lines import KnownLine, KnownLines
from gang_scheduler.scheduler.turns.lines import OpenTrees, QueueLine
from gang_scheduler.scheduler.turns.quota import AN_OPTION, Quota
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, Request

BLOCKING: Final = those_with(lambda rule: rule.strict is Strict.HOLDS_UP)
"""Reasons that end with time: a queue in strict order waits only behind gangs with one of these."""
A_TURN: Final = 20
AN_ASSIGNMENT: Final = 3
"""The costs of a turn, and of each assignment of its group, in looks. Searches are not included."""
A_LEVEL: Final = 0.8
LEVELS_OF_A_TURN: Final = 6
"""A turn compares its queue and all queues above it. Each level beyond this many costs looks."""
FOR_TREES: Final = 0.75
"""The part of a cycle's remaining work for finding out which trees have quota for any group.

The rest is left for turns: a tree that was not looked through counts as open.
"""


def by_turns(placing: Placing, quota: Quota, failures: Sequence[Failure]) -> Plan:
    """Decide the groups of all queues in the order of turns, except groups that failed before."""
    decided, attempts = placing.decided, Attempts(placing, quota)
    turns = TurnTaking(placing, quota, attempts)
    # 1. Put the groups of each queue in line.
    groups = placing.snapshot.groups
    if failures:
        failed = {each.group.name for each in failures}
        groups = tuple(each for each in groups if each.name not in failed)
    turns.line_up(groups)
    # 2. Queues take turns, by the fairness of their tree.
    turns.take_all()
    # 3. Once all quorums are decided, place surplus that has quota and room.
    placed = [each.group for each in quota.tried.values()]
    for group in decided.each(decided.with_room(placed)):
        if (decided.untried or turns.is_done()) and decided.with_surplus(group):
            decided.leave_untried(group)
        else:
            quota.place_surplus(group)
    # 4. If that moved quorums, groups that did not fit may fit now.
    waiting = [each for each in placed if not quota.has_reserved_room(each)]
    for group in decided.each(placing.worth_another_try(waiting)):
        attempts.place_again(group)
    if decided.moved:
        placing.refresh_surplus(waiting, attempts.place_again, quota.place_surplus)
    # 5. Started gangs may take the room of lower priorities for missing members.
    for group in decided.each([each for each in placed if each.gangs[0].key in decided.in_part]):
        quota.make_room(group)
    # 6. Return the decisions, with a reason for every gang that waits.
    return quota.with_charges(placing.plan(failures))


class TurnTaking:
    """The lines of all queues. Queues take turns until no queue has a head."""

    def __init__(self, placing: Placing, quota: Quota, attempts: Attempts) -> None:
        self._placing = placing
        self._quota = quota
        self._progress = placing.progress
        self._attempts = attempts
        self._decided = placing.decided
        self._effort = placing.trial.effort
        self._ledger = quota.ledger
        self._lines: dict[QueueRef, QueueLine] = {}
        self._heads: dict[QueueRef, Request] = {}
        self._watched: dict[FlavorResource, list[tuple[int, int, Request]]] = {}
        """By key, (`spent`, number, head): once more is spent, the head may lack quota."""
        self._order = 0
        self._looked_at = 0
        self._on_heads: float = 0
        self._on_refused: float = 0
        """The work on groups that became heads, and on groups that were refused instead."""
        self._known_lines = KnownLines(quota.declared, placing.snapshot.taken_at)
        is_watched = placing.watch is not None or placing.trial.spare is not None
        self._full_trees = FullTrees(
            *(quota, placing.decided, placing.progress),
            part=self._effort.limit_at(FOR_TREES),
            note=self._note_refused,
            is_watched=is_watched,
        )
        reserved = _reserved(placing)
        self._trees = OpenTrees(quota.forest.root, self._full_trees.any_hope, reserved)
        self._known_failures = KnownFailures(placing, quota)

    # Lines and heads.

    def line_up(self, groups: Iterable[GangGroup]) -> None:
        """Put the groups of each queue in order; set groups aside if their queue takes none."""
        by_queue: dict[QueueRef, list[GangGroup]] = {}
        for group in self._decided.each(groups):
            by_queue.setdefault(group.queue or NONE, []).append(group)
        for ref, some in by_queue.items():
            problem = self._quota.forest.problem(ref)
            if problem is None:
                self._lines[ref] = self._line(self._quota.forest.queue(ref), some)
            else:
                for group in self._decided.each(some):
                    self._quota.set_aside(group, problem)
        self._known_lines.settle()

    def _line(self, queue: Queue, groups: Sequence[GangGroup]) -> QueueLine:
        default = self._placing.profile.rules.queues
        basis = (*self._quota.basis, default)
        # Past use, waiting and reserved room change the order as time passes.
        recent = self._quota.forest.accounts.usage.local_recent
        reserved = self._trees.reserved_among(groups)
        lasts = not (recent or reserved or lines.per_hour_of(queue, default))
        known = self._known_lines.find(queue.ref, groups, basis) if lasts else None
        if known is None:
            known = KnownLine(groups, self._in_order(queue, groups), basis)
            if lasts:
                self._known_lines.keep(queue.ref, known)
        return QueueLine(queue, [*known.groups], known, reserved)

    def _in_order(self, queue: Queue, groups: Iterable[GangGroup]) -> list[GangGroup]:
        default, now = self._placing.profile.rules.queues, self._placing.snapshot.taken_at
        keyed = []
        for group in self._decided.each(groups):
            effective = lines.effective_priority(group, queue, default, now)
            reserved = self._trees.is_reserved(group)
            key = lines.key(self._quota.forest.accounts, group, effective)
            keyed.append(((not reserved, *key), group))
        keyed.sort(key=itemgetter(0), reverse=True)
        return [group for _, group in keyed]

    def take_all(self) -> None:
        """Try the heads of queues in the order of their turns, as long as there is work left."""
        self._trees.add(self._lines.values())
        for root in self._trees.roots:
            if not self._trees.is_open(root):
                self._refuse_tree(root)
        heads = {ref: head for ref in self._lines if (head := self._next_head(ref)) is not None}
        if self._is_cut_off() and self._on_refused > self._on_heads:
            # The heads decide which queue is next, so no turn is taken until all of them are known.
            # The groups that were refused for this are out of the way of the next cycle. Heads are
            # not: if most work was for them, the next cycle would not know more of them.
            self._leave_rest()
            return
        turns = Turns(self._ledger.ahead, heads)
        while (ref := turns.next()) is not None and not self.is_done():
            if not self._trees.is_open(ref):
                self._refuse_tree(ref)
                turns.end(ref)
                continue
            request = self._heads.pop(ref)
            charged = self._quota.forest.charged() if request.nominated else None
            given_back = self._ledger.given_back
            self._take_turn(request)
            turns.replace(ref, self._next_head(ref))
            # All heads are compared again if this turn frees quota: at once, because nominations
            # were given up, or later, when its victims have ended.
            frees_later = self._ledger.given_back != given_back
            if frees_later or (charged is not None and self._quota.forest.has_given_back(charged)):
                turns.restart(self._ledger.ahead, self._refresh_heads(self._heads))
            else:
                for each, head in self._refresh_heads(self._outgrown()).items():
                    turns.replace(each, head)
        self._leave_rest()

    def is_done(self) -> bool:
        """Return whether no further turn is taken: there was one, and the cycle's work is done.

        If only searches have used up their looks, other groups still get turns: most gangs need no
        evictions.
        """
        return bool(self._quota.tried) and self._progress.is_done()

    def _is_cut_off(self) -> bool:
        """Return whether no more groups are looked at before the first turn.

        That takes twice the work of a cycle: heads of some queues would be unknown.
        """
        return bool(self._looked_at) and not self._quota.tried and self._progress.is_far_over()

    def _leave_rest(self) -> None:
        """Leave all groups without a turn to the next cycle."""
        self._decided.leave_untried(*(each.group for each in self._heads.values()))
        self._heads.clear()
        for line in self._lines.values():
            self._decided.leave_untried(*line.groups)
            line.groups.clear()

    def _take_turn(self, request: Request) -> None:
        group = self._decided.deciding = request.group
        levels = max(self._quota.forest.depth(request.ref) - LEVELS_OF_A_TURN, 0)
        self._effort.count(A_TURN + AN_ASSIGNMENT * len(request.assignments) + A_LEVEL * levels)
        self._placing.show(group)
        trying = Attempt(request, self._quota.release_reserved(request), evicting=True)
        self._attempts.attempt(trying)
        self._attempts.ask_for_nodes(trying)
        refused = self._decided.refused.get(group.waiting[0].key)
        self._quota.reservations.note_turn(request, refused)
        self._trees.note_decided(group)
        self._known_failures.record(request)
        self._note_blocking(self._lines[request.ref], group)

    def _next_head(self, ref: QueueRef) -> Head | None:
        """Return the next group of a queue that is worth a turn; decide the groups before it."""
        line = self._lines[ref]
        while True:
            if line.is_over:
                self._full_trees.refuse(line, line.groups)
            if not line.groups or self.is_done() or self._is_cut_off():
                break
            group = self._decided.deciding = line.groups.pop()
            self._looked_at += 1
            before = self._effort.done
            self._effort.count(A_GROUP)
            request = self._request(line, group)
            if request is not None:
                self._heads[ref] = request
                self._decided.deciding = None
                head = self._head(line, request)
                self._on_heads += self._effort.done - before
                return head
            self._on_refused += self._effort.done - before
            self._placing.show(group)
            self._trees.note_decided(group)
            self._note_blocking(line, group)
        self._decided.deciding = None
        return None

    def _refresh_heads(self, refs: Iterable[QueueRef]) -> dict[QueueRef, Head]:
        """Return how the heads of queues compare now."""
        return {ref: self._head(self._lines[ref], self._heads[ref]) for ref in [*refs]}

    def _outgrown(self) -> list[QueueRef]:
        """Return the queues whose heads may have lost the quota for their present assignment.

        Most heads are not looked at: free quota shrinks by at most the amount that was charged.
        """
        if self._ledger.promised:
            return [ref for ref, request in self._heads.items() if len(request.assignments) > 1]
        found = []
        for key in self._watched.keys() & self._ledger.spent.keys():
            heap, spent = self._watched[key], self._ledger.spent[key]
            while heap and heap[0][0] < spent:
                _, _, request = heapq.heappop(heap)
                if self._heads.get(request.ref) is request:
                    found.append(request.ref)
        return sorted(set(found))

    def _head(self, line: QueueLine, request: Request) -> Head:
        """Return how the group compares, by the assignment that it would take now."""
        assignment, group = self._assignment_now(request), request.group
        default, now = self._placing.profile.rules.queues, self._placing.snapshot.taken_at
        effective = lines.effective_priority(group, line.queue, default, now)
        return Head(assignment.charge, effective, group.created_at, request.nominated)

    def _assignment_now(self, request: Request) -> FlavorAssignment:
        """Return the first assignment with quota that does not borrow, else the first with quota.

        The answer changes when quota is charged or given back.
        """
        first, *others = request.assignments
        if not others:
            return first
        self._effort.count(AN_ASSIGNMENT * len(request.assignments))
        ref = request.ref
        assignments = [
            assignment
            for assignment in request.assignments
            if self._ledger.will_fit(ref, assignment.charge)
        ]
        if not request.queue.fungibility.stop_when_borrowing:
            borrows = self._ledger.ahead.borrows
            assignments.sort(key=lambda assignment: borrows(ref, assignment.charge))
        for key, asked in assignments[0].charge.items() if assignments else ():
            least = self._ledger.spent[key] + self._ledger.left_beside(ref, key, asked)
            self._order += 1
            heapq.heappush(self._watched.setdefault(key, []), (least, self._order, request))
        return assignments[0] if assignments else first

    def _request(self, line: QueueLine, group: GangGroup) -> Request | None:
        """Return the request of a group; None if the group is refused, with the reason recorded."""
        ready = self._placing.admitted(group)
        if ready is None:
            return None
        judged = self._quota.requests.judged
        asked = self._asked(line, ready)
        self._effort.count(AN_OPTION * (self._quota.requests.judged - judged))
        if isinstance(asked, Problem):
            self._quota.set_aside(ready, asked)
            return None
        return asked

    def _asked(self, line: QueueLine, group: GangGroup) -> Request | Problem | None:
        """Return the request of a group to its queue, or why the group is not tried.

        None if it is refused already.
        """
        queue = line.queue
        nominated = group.nominated or self._placing.node_requests.stands(group)
        holds = nominated or bool(group.started) or any(gang.bound for gang in group.gangs)
        stands = holds and queue.stop is not StopPolicy.HOLD_AND_DRAIN
        if not stands:
            problem = self._quota.queue_refusal(queue, group, holds=holds)
            if problem is not None:
                return problem
        units = self._decided.units[group.gangs[0].key]
        is_new = line.behind is None and not holds
        if is_new and self._known_failures.refuses(group, queue.ref, units):
            return None
        asked = self._quota.requests.request_of(
            group, queue, units, holds=holds, nominated=nominated
        )
        if isinstance(asked, Problem) or line.behind is None:
            return asked
        rules, own = self._placing.profile.rules.preemption, group.gangs[0].key.namespace
        is_hidden = rules.hide_foreign_names and line.behind.namespace != own
        head = None if is_hidden else line.behind
        return Problem(Reason.WAITING_FOR_TURN, BehindGang(queue.ref.name, head))

    def _note_blocking(self, line: QueueLine, group: GangGroup) -> None:
        """Record that a queue in strict order waits behind a group, if it does."""
        if line.queue.strategy is not Strategy.STRICT_FIFO or line.behind is not None:
            return
        if line.queue.ref.product not in self._quota.declared.enforced:
            return
        refused = self._decided.refused.get(group.waiting[0].key)
        if refused is None or refused.reason not in BLOCKING or refused.left_over:
            return
        if not self._could_never_fit(group, line.queue, refused):
            line.behind = group.gangs[0].key

    def _could_never_fit(self, group: GangGroup, queue: Queue, refused: Refused) -> bool:
        """Return whether a group cannot fit even the empty cluster, and no nodes are requested."""
        if self._placing.node_requests.may_ask(group, queue):
            return False
        found = refused.if_empty
        if found is None and group.gangs[0].key in self._quota.tried:
            found = self._placing.empty_cluster.would_fit(
                group, self._quota.units_of_assignments(group)
            )
        return found is IfEmpty.TOO_LARGE

    # Trees without quota.

    def _refuse_tree(self, ref: QueueRef) -> None:
        """Refuse all remaining groups of a tree without quota, one queue after the other."""
        for line in self._trees.lines(ref):
            line.is_over, own = True, line.queue.ref
            while own in self._heads or self._next_head(own) is not None:
                if self.is_done():
                    return
                request = self._heads.pop(own)
                head = [request.group]
                self._full_trees.refuse(line, head)
                if head:
                    self._take_turn(request)

    def _note_refused(self, group: GangGroup) -> None:
        self._placing.show(group)
        self._trees.note_decided(group)


def _reserved(placing: Placing) -> AbstractSet[GangKey]:
    """Return the gangs that wait with reserved room, or with nodes that are on their way."""
    nominated = (each.gang for each in placing.snapshot.nominated)
    reserved = {*nominated, *placing.node_requests.standing()}
    if reserved:
        # Room is also reserved for workloads that were let start and have no pods yet.
        groups = placing.snapshot.groups
        reserved.intersection_update(gang.key for group in groups for gang in group.waiting)
    return reserved


class KnownFailures:
    """Groups that failed in this cycle: similar groups are refused without a turn."""

    def __init__(self, placing: Placing, quota: Quota) -> None:
        self._placing = placing
        self._quota = quota
        self._decided = placing.decided
        self._alike: dict[Hashable, tuple[Refused, Request]] = {}

    def _likeness(
        self, group: GangGroup, ref: QueueRef, units: Sequence[PlacementUnit]
    ) -> Hashable:
        """Return a key shared by groups that fail in the same way; None for a unique group."""
        if len(group.waiting) > 1 or any(unit.gains for unit in units):
            return None
        alike = preemption_key(group, units, self._placing.evaluator.pools.own(group))
        return alike and (self._placing.known_misfits.generation, ref, alike)

    def refuses(self, group: GangGroup, ref: QueueRef, units: Sequence[PlacementUnit]) -> bool:
        """Refuse a group that is similar to one that did not fit; return whether it is."""
        if not self._alike or self._placing.node_requests.may_ask(
            group, self._quota.forest.queue(ref)
        ):
            return False
        known = self._alike.get(self._likeness(group, ref, units))
        if known is None or self._quota.may_be_promised(group, self._quota.forest.queue(ref)):
            return False
        (gang,), (refused, request) = group.waiting, known
        self._decided.refused[gang.key] = revised(refused, gang=gang, pods=gang.pending)
        self._quota.alike[gang.key] = request
        return True

    def record(self, request: Request) -> None:
        """Record that a group failed, for similar groups."""
        group, key = request.group, request.group.waiting[0].key
        if request.holds or key in self._decided.gangs or self._quota.has_reserved_room(group):
            return
        if isinstance(self._decided.refused[key].cause, DelaysReserved):
            return  # A similar group may end sooner.
        if self._placing.node_requests.may_ask(group, request.queue):
            return  # Each group makes its own request for nodes.
        alike = self._likeness(group, request.ref, request.units)
        if alike is not None:
            self._alike[alike] = self._decided.refused[key], request
