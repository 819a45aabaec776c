"""Which gangs may be evicted for which, by trying every set of them: slow and plain.

A plan says how many members of each running gang go: some over its quorum, or all. Every plan is
judged in the state that it leaves behind, and the cheapest of those that are lawful are kept. The
comments that begin with "Reading" say how a rule is taken that could be taken in two ways.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from property.eviction_cases import NONE, Gang, Tree, World

OVERRUN, RECLAIM, IN_QUEUE, ABOVE, AT_FIRST = range(5)
SHOWN = {OVERRUN: "Overrun", RECLAIM: "Reclaim", IN_QUEUE: "InQueue", AT_FIRST: "FairShare"}
WEIGHTS = {"Overrun": 0, "Reclaim": 1, "InQueue": 2, "WhileBorrowing": 3, "FairShare": 3}
LOWEST = -(10**10)
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"

Members = Mapping[str, int]
"""How many members of each gang go, by name."""
Share = tuple[int, Fraction]
"""A share: those that begin with 1 are infinite, and compared without the weight."""


@dataclass(frozen=True)
class Plan:
    """Victims, each with its class, and what they cost, dearest criterion first."""

    members: Members
    classes: Mapping[str, int]
    shown: Mapping[str, str]
    cost: tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """What can be done for a gang: it fits, or evicts one of the cheapest sets, or waits."""

    fits: bool
    plans: tuple[Plan, ...] = ()
    flavors: Mapping[str, str] | None = None


def answer(world: World, gang: Gang) -> Answer:
    """Return what can be done for a gang that waits, flavor after flavor.

    Reading: a flavor that ends the search is taken only if none before it was better.
    """
    rules = world.tree_of(gang.leaf).rules[gang.leaf]
    best: list[tuple[tuple[float, int], Answer]] = []
    for flavors in _choices(world, gang):
        judge = Judge(world, with_flavors(gang, flavors))
        if judge.fits({}):
            borrows = judge.borrows({})
            best.append(((float(borrows), 0), Answer(fits=True, flavors=flavors)))
            ends = not borrows or rules.stop_when_borrowing
        elif plans := judge.cheapest():
            first = rules.rather_evicts and not judge.borrows(plans[0].members)
            rank = (0.5 if first else 2.0, max(plans[0].classes.values()))
            best.append((rank, Answer(fits=False, plans=tuple(plans), flavors=flavors)))
            ends = rules.stop_when_evicting
        else:
            ends = False
        if ends:
            break
    return min(best, key=lambda each: each[0])[1] if best else Answer(fits=False)


def with_flavors(gang: Gang, flavors: Mapping[str, str]) -> Gang:
    """Return a gang that waits as it asks for flavors."""
    return replace(gang, flavors=flavors)


def _choices(world: World, gang: Gang) -> Iterator[dict[str, str]]:
    groups = world.tree_of(gang.leaf).groups.get(gang.leaf, [])
    asked = [group for group in groups if set(group[0]) & set(gang.requests)]
    for chosen in product(*(flavors for _, flavors in asked)):
        yield {
            resource: flavor
            for (resources, _), flavor in zip(asked, chosen, strict=True)
            for resource in resources
            if resource in gang.requests
        }


class Judge:
    """Judges plans for one gang that waits. Only its quorum is asked for: surplus evicts nothing.

    Members that leave already are gone.
    """

    def __init__(self, world: World, gang: Gang) -> None:
        self.world = world
        self.gang = gang
        self.tree = world.tree_of(gang.leaf)
        self.running = {each.name: each for each in world.running if not each.leaving}
        self.charge = gang.charge(gang.minimum)
        self.asked = [key for key in self.charge if key in self.tree.resources]
        for tree in world.trees:
            if not tree.fixed:
                _fix(world, tree)
        self._load({}, with_gang=False)
        self.lacks_quota = {key for key in self.asked if not self._has_quota(key)}
        self.lacks_room = self._lacking_room()
        self.before = {each.leaf: self._drs_before(each.leaf) for each in self.running.values()}

    # The state that a plan leaves behind.

    def _load(self, members: Members, *, with_gang: bool = True) -> None:
        """Charge what runs without the victims."""
        charges: dict[str, dict[str, int]] = {}
        for name, gang in self.running.items():
            _add(charges, gang.leaf, gang.charge(gang.pods - members.get(name, 0)))
        if with_gang:
            _add(charges, self.gang.leaf, self.charge)
        for tree in self.world.trees:
            tree.load(charges)

    def _has_quota(self, key: str) -> bool:
        """Whether the gang has the quota it asks for, while it is not charged."""
        asked, tree = self.charge[key], self.tree
        if asked > tree.room(self.gang.leaf, key):
            return False
        for name in tree.way(self.gang.leaf):
            lenders = tree.rules[name].lenders
            if lenders is None:
                continue
            after = tree.with_charge(self.gang.leaf, {key: asked})
            free = sum(
                max(0, tree.n(each, key) - max(tree.g(each, key), after.used(each, key)))
                for each in sorted(lenders)
                if each in tree.nodes
            )
            if after.borrowed(name, key) > free:
                return False
        return True

    def fits(self, members: Members) -> bool:
        """Whether the gang has quota and room once the victims have gone."""
        self._load(members, with_gang=False)
        return all(map(self._has_quota, self.asked)) and self._slots(members) >= self.gang.minimum

    def borrows(self, members: Members) -> bool:
        """Whether the queue of the gang uses more than it was promised."""
        self._load(members)
        return any(self.tree.borrowed(self.gang.leaf, key) > 0 for key in self.asked)

    def _slots(self, members: Members, only: str | None = None) -> int:
        """Return how many members the nodes have room for; members are identical."""
        wanted = dict(self.gang.selector)
        for flavor in self.gang.flavors.values():
            wanted |= self.world.flavors.get(flavor, {})
        free = {
            node: dict(room)
            for node, room in self.world.nodes.items()
            if all(self.world.labels[node].get(key) == value for key, value in wanted.items())
        }
        for name, gang in self.running.items():
            for node in gang.nodes[: gang.pods - members.get(name, 0)]:
                for resource, value in gang.requests.items():
                    if node in free:
                        free[node][resource] = free[node].get(resource, 0) - value
        asked = {
            resource: value
            for resource, value in self.gang.requests.items()
            if value > 0 and (only is None or resource == only)
        }
        return sum(
            min((max(0, room.get(key, 0)) // value for key, value in asked.items()), default=10**6)
            for room in free.values()
        )

    def _lacking_room(self) -> set[str]:
        """Return the resources that nodes have too little of.

        Reading: a resource lacks where it alone would hold the gang back; if only all of them
        together do, each lacks.
        """
        if self._slots({}) >= self.gang.minimum:
            return set()
        alone = {each for each in self.gang.requests if self._slots({}, each) < self.gang.minimum}
        return alone or set(self.gang.requests)

    # Shares.

    def _drs(self, tree: Tree, name: str) -> Share:
        parent = tree.nodes[name].parent
        if parent is None:
            return (0, Fraction(0))
        borrowed: dict[str, int] = {}
        lendable: dict[str, int] = {}
        for key in tree.resources:
            resource = key.partition("/")[2]
            borrowed[resource] = borrowed.get(resource, 0) + tree.borrowed(name, key)
            lendable[resource] = lendable.get(resource, 0) + tree.potential(parent, key)
        parts = [
            Fraction(borrowed[each], lendable[each]) for each in borrowed if lendable[each] > 0
        ]
        return _weighed(max(parts, default=Fraction(0)), Fraction(tree.nodes[name].weight))

    def _drs_before(self, leaf: str) -> Share:
        """Return the share that is compared in costs, also between trees: that of `DRS`."""
        return self._drs(self.world.tree_of(leaf), leaf)

    def _share(self, name: str) -> Share:
        """Return the share of a queue of the gang's tree as it is loaded."""
        tree = self.tree
        if tree.fairness == "DRS":
            return self._drs(tree, name)
        amounts = {key: tree.total(name, key) for key in tree.resources}
        if tree.fairness == "DRF":
            whole = {key: Fraction(tree.c(tree.root(), key)) for key in amounts}
            weight = Fraction(tree.nodes[name].weight)
        else:
            whole = {key: tree.fixed[key][name] for key in amounts}
            weight = Fraction(1)
        if any(amount > 0 and whole[key] <= 0 for key, amount in amounts.items()):
            return (1, Fraction(max(amounts.values())))
        parts = [amount / whole[key] for key, amount in amounts.items() if amount > 0]
        return _weighed(max(parts, default=Fraction(0)), weight)

    # What may go for what.

    def plans(self) -> Iterator[Plan]:
        """Yield every lawful plan after which the gang fits."""
        if self.gang.never:
            return
        allowed = [gang for gang in self.running.values() if self._may_go(gang)]
        counts = [[*range(gang.pods - gang.minimum + 1), gang.pods] for gang in allowed]
        for chosen in product(*(sorted(set(each)) for each in counts)):
            members = {gang.name: gone for gang, gone in zip(allowed, chosen, strict=True) if gone}
            if members and self.fits(members):
                classes = self.classes(members)
                if (
                    classes
                    and not self._comes_back(members)
                    and not self._circles(members, classes)
                ):
                    yield self._plan(members, classes)

    def cheapest(self) -> list[Plan]:
        """Return the lawful plans of the least cost.

        Reading: a victim is needed, too, if without it another goes by a higher class.
        """
        every = list(self.plans())
        least = min((plan.cost for plan in every), default=None)
        return [plan for plan in every if plan.cost == least]

    def _may_go(self, gang: Gang) -> bool:
        """Whether a gang uses what lacks, and has no veto, whatever else goes."""
        uses = {resource for resource, value in gang.requests.items() if value > 0}
        keys = self.lacks_quota & set(gang.charge(1)) if gang.leaf in self.tree.nodes else set()
        return gang.evictable and bool(keys or uses & self.lacks_room) and not self._vetoed(gang)

    def _vetoed(self, gang: Gang) -> bool:
        tree, own = self.world.tree_of(gang.leaf), self.gang.leaf
        fenced = [name for name in self.tree.way(own) if self.tree.rules[name].fence]
        if fenced and (tree is not self.tree or fenced[0] not in tree.way(gang.leaf)):
            return True
        # Reading: the rules of queues that both gangs are in are for gangs from outside of them.
        # Of the queue right below the common one minRuntime counts only if it is the leaf.
        below = self._below(gang.leaf)
        inner = below[:-1] if tree is self.tree else []
        patience = max(tree.rules[name].min_runtime for name in {gang.leaf, *inner})
        if gang.ran < patience:
            return True
        for name in below:
            rules = tree.rules[name]
            if not rules.allowed:
                return True
            sources = rules.allowed_from
            if sources is not None and not sources & set(self.tree.way(own)):
                return True
        return False

    def _below(self, leaf: str) -> list[str]:
        """Return a queue and all above it, up to the one below what it has above with ours."""
        shared = self.tree.way(self.gang.leaf)
        return [name for name in self.world.tree_of(leaf).way(leaf) if name not in shared]

    def _own_side(self, leaf: str) -> list[str]:
        """Return the queues of the gang, up to the one below what they have above with another."""
        shared = self.world.tree_of(leaf).way(leaf)
        return [name for name in self.tree.way(self.gang.leaf) if name not in shared]

    def classes(self, members: Members) -> dict[str, int] | None:
        """Return the lowest lawful class of each victim in the state that is left, if all have."""
        found: dict[str, int] = {}
        groups: dict[str, list[Gang]] = {}
        for name in members:
            gang = self.running[name]
            if gang.leaf == self.gang.leaf:
                if gang.overran_for == self.gang.name:
                    found[name] = OVERRUN
                elif self._policy(self.tree.rules[gang.leaf].within, gang):
                    found[name] = IN_QUEUE
                else:
                    return None
            else:
                groups.setdefault(self._below(gang.leaf)[-1], []).append(gang)
        for top, gangs in groups.items():
            same = gangs[0].leaf in self.tree.nodes
            judge = self._in_tree if same else self._between_trees
            classes = judge(members, top, gangs)
            if classes is None:
                return None
            found |= classes
        return found

    def _policy(self, policy: str, gang: Gang) -> bool:
        newer = gang.age < self.gang.age
        lower = gang.priority < self.gang.priority
        equal = gang.priority == self.gang.priority
        return policy == "Any" or (
            policy != "Never"
            and (lower or (policy == "LowerOrNewerEqualPriority" and equal and newer))
        )

    def _in_tree(self, members: Members, top: str, gangs: list[Gang]) -> dict[str, int] | None:
        """Return the classes of the victims below one queue that the gang is not below."""
        rules = self.tree.rules[self.gang.leaf]
        side = self._own_side(gangs[0].leaf)
        self._load(members)
        # Reading: one queue must stay within its nominal on all that is asked for.
        within = any(
            all(self.tree.used(name, key) <= self.tree.n(name, key) for key in self.asked)
            for name in side
        )
        fair = self._fair_class(members, side[-1], top, gangs)
        orderly = self._orderly(members, gangs, self._over)
        found = {}
        for gang in gangs:
            lawful = set()
            if gang.overran_for == self.gang.name:
                lawful.add(OVERRUN)
            if orderly and self._policy(rules.reclaim, gang):
                lawful |= {RECLAIM} if within else set()
                lawful |= {fair} if fair is not None else set()
            below = rules.threshold is None or gang.priority <= rules.threshold
            if (
                orderly
                and self.tree.fairness == "Priority"
                and rules.borrowing != "Never"
                and gang.priority < self.gang.priority
                and below
            ):
                lawful.add(ABOVE)
            if not lawful:
                return None
            found[gang.name] = min(lawful)
        return found

    def _fair_class(self, members: Members, own: str, top: str, gangs: list[Gang]) -> int | None:
        """Return the class that shares give to the victims below a queue."""
        if self.tree.fairness == "Priority":
            return None
        self._load(members)
        mine = self._share(own)
        if self.tree.fairness == "FairShare":
            one = (0, Fraction(1))
            at_first = mine <= one and self._any_last(members, top, gangs, one)
            return ABOVE if at_first else None
        if FINAL in self.world.strategies and mine <= self._share(top):
            return ABOVE
        at_first = INITIAL in self.world.strategies and self._any_last(members, top, gangs, mine)
        return AT_FIRST if at_first else None

    def _any_last(self, members: Members, top: str, gangs: list[Gang], least: Share) -> bool:
        """Whether a share is above another with the last victim put back, for some order."""
        for gang in gangs:
            # Reading: the same order shows that queues give back no more than they borrow.
            self._load(self._with_one_back(members, gang))
            if self._share(top) > least and self._orderly(members, gangs, self._over, gang):
                return True
        return False

    def _with_one_back(self, members: Members, gang: Gang) -> Members:
        """Return what is gone but for a whole gang, or one of the members over its quorum."""
        gone = members[gang.name]
        return {**members, gang.name: 0 if gone == gang.pods else gone - 1}

    def _orderly(
        self,
        members: Members,
        gangs: list[Gang],
        may_go: Callable[[Gang], bool],
        last: Gang | None = None,
    ) -> bool:
        """Whether victims can go in an order in which each may go at its moment.

        Told backwards: what was put back stays, and only adds to what is used.
        """
        there, waiting = members, list(gangs)
        while waiting:
            for gang in waiting if last is None else [last]:
                back = self._with_one_back(there, gang)
                self._load(back)
                if gang.overran_for == self.gang.name or may_go(gang):
                    there, last = back, None
                    waiting = [each for each in waiting if there[each.name]]
                    break
            else:
                return False
        return True

    def _over(self, gang: Gang) -> bool:
        """Whether a queue and those above it are over their nominal on what lacks.

        Reading: each on something that the gang uses, and that lacks; not all on the same.
        """
        lacks = self.lacks_quota | {
            key for key in self.tree.resources if key.partition("/")[2] in self.lacks_room
        }
        used = lacks & set(gang.charge(1))
        return all(
            any(self.tree.borrowed(name, key) > 0 for key in used)
            for name in self._below(gang.leaf)
        )

    def _between_trees(self, members: Members, _: str, gangs: list[Gang]) -> dict[str, int] | None:
        """Return the classes of victims in another tree: for room, what is promised comes first.

        Reading: the gang may borrow nowhere from its leaf up to its root. Victims in `none`, and in
        leaves over their nominal at the moment they go; the queues between do not matter.
        """
        policy = self.tree.rules[self.gang.leaf].reclaim
        self._load(members)
        within = all(
            self.tree.used(name, key) <= self.tree.n(name, key)
            for name in self.tree.way(self.gang.leaf)
            for key in self.asked
        )
        if not within or not self._orderly(members, gangs, self._over_for_room):
            return None
        if not all(self._policy(policy, gang) for gang in gangs):
            return None
        return {gang.name: RECLAIM for gang in gangs}

    def _over_for_room(self, gang: Gang) -> bool:
        """Whether the leaf of a gang is over its nominal where room lacks; `none` always is."""
        tree = self.world.tree_of(gang.leaf)
        keys = [key for key in gang.charge(1) if key.partition("/")[2] in self.lacks_room]
        over = any(tree.borrowed(gang.leaf, key) > 0 for key in keys if key in tree.resources)
        return over or gang.leaf == NONE

    # What no plan may do, lawful or not.

    def _comes_back(self, members: Members) -> bool:
        """Whether a victim could at once evict the gang alone, for quota that it then lacks."""
        rest = [
            replace(
                gang,
                pods=gang.pods - members.get(name, 0),
                nodes=gang.nodes[: gang.pods - members.get(name, 0)],
            )
            for name, gang in self.running.items()
            if members.get(name, 0) < gang.pods
        ]
        # Reading: time passes, so that minRuntime of the gang does not protect it.
        there = replace(self.gang, pods=self.gang.minimum, nodes=self._places(members), ran=10**9)
        for name, gone in members.items():
            victim = self.running[name]
            if gone < victim.pods:
                continue
            judge = Judge(replace(self.world, running=[*rest, there]), victim)
            plan = {there.name: there.pods}
            if (
                judge.lacks_quota
                and not victim.never
                and judge._may_go(there)
                and judge.fits(plan)
                and judge.classes(plan) is not None
            ):
                return True
        return False

    def _places(self, members: Members) -> tuple[str, ...]:
        """Return nodes for the gang once the victims have gone."""
        found: list[str] = []
        for node in self.world.nodes:
            alone = Judge.__new__(Judge)
            alone.world = replace(self.world, nodes={node: self.world.nodes[node]})
            alone.gang, alone.running = self.gang, self.running
            found += [node] * min(alone._slots(members), self.gang.minimum - len(found))
        return tuple(found)

    def _circles(self, members: Members, classes: Mapping[str, int]) -> bool:
        """Whether a victim would yield to a gang that yielded to it, by no weaker right."""
        everyone = [*self.world.running, *self.world.pending]
        # Reading: a gang that loses surplus alone does not yield: as surplus it evicts nothing.
        whole = [name for name in classes if members[name] == self.running[name].pods]
        for name in whole:
            by = classes[name]
            weight = min(by, 3)
            reached, waiting = {self.gang.name}, [self.gang.name]
            while waiting:
                at = waiting.pop()
                for gang in everyone:
                    for above, link in gang.yielded if gang.name == at else ():
                        if WEIGHTS[link] <= weight and above not in reached:
                            reached.add(above)
                            waiting.append(above)
            if name in reached:
                return True
        return False

    # Costs.

    def _plan(self, members: Members, classes: Mapping[str, int]) -> Plan:
        shown = {
            name: "WhileBorrowing"
            if by == ABOVE and self.tree.fairness == "Priority"
            else SHOWN.get(by, "FairShare")
            for name, by in classes.items()
        }
        return Plan(members, classes, shown, self._cost(members, classes))

    def _cost(self, members: Members, classes: Mapping[str, int]) -> tuple[Any, ...]:
        gone = {name: self.running[name] for name in members}
        broken = [name for name, gang in gone.items() if members[name] == gang.pods]
        others = [gang for gang in gone.values() if gang.leaf != self.gang.leaf]
        shares = sorted(self.before[gang.leaf] for gang in others)
        of_whole = sorted(self.before[gang.leaf] for gang in others if gang.name in broken)
        budgets = sum(
            max(0, members[name] - gang.budget)
            for name, gang in gone.items()
            if gang.budget is not None
        )
        lacking = {key.partition("/")[2] for key in self.lacks_quota} | self.lacks_room
        freed = sum(
            gang.requests.get(each, 0) * members[name]
            for name, gang in gone.items()
            for each in lacking
        )
        return (
            budgets,
            max(classes.values()),
            # Reading: surplus goes before any whole gang of its class, so it has neither a priority
            # nor a share in these two; without victims of other queues a share is the greatest.
            max((gang.priority for gang in gone.values() if gang.name in broken), default=LOWEST),
            _more(of_whole[0]) if of_whole else (-2, Fraction(0)),
            len(broken),
            len(members),
            sum(gang.lost * members[name] for name, gang in gone.items()),
            sum(members.values()),
            tuple(sorted((gang.priority for gang in gone.values()), reverse=True)),
            tuple(map(_more, shares)),
            # Reading: the resources that lack are summed up.
            freed,
        )


def _more(share: Share) -> Share:
    """Return a key by which more is less."""
    return (-share[0], -share[1])


def _weighed(share: Fraction, weight: Fraction) -> Share:
    if weight > 0:
        return (0, share / weight)
    return (1, share) if share > 0 else (0, Fraction(0))


def _add(charges: dict[str, dict[str, int]], leaf: str, charge: Mapping[str, int]) -> None:
    there = charges.setdefault(leaf, {})
    for key, value in charge.items():
        there[key] = there.get(key, 0) + value


def _fix(world: World, tree: Tree) -> None:
    charges: dict[str, dict[str, int]] = {}
    for gang in world.running:
        _add(charges, gang.leaf, gang.charge(gang.pods))
    tree.load(charges)
    for gang in world.pending:
        if gang.leaf in tree.nodes:
            first = next(_choices(world, gang), {})
            tree.ask(gang.leaf, replace(gang, flavors=first).charge(gang.pods))
    tree.fix_fair_shares()
