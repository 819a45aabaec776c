"""Law: what fits, is used, borrowed and lent is what the definitions say, after any sequence."""

from random import Random

from hypothesis import given

from gang_scheduler.model.queues import DEFAULT_FLAVOR, FlavorResource
from gang_scheduler.scheduler.quota.forest import Forest
from property.naive_queues import NaiveTree, ref_of
from property.random_cases import SEEDS, dice_of
from property.random_queues import a_charge, a_tree, fill, forest_of, keyed, leaves


def compare(tree: NaiveTree, forest: Forest) -> None:
    """Fail unless all that the forest says is what the definitions say."""
    empty = tree.emptied()
    for name in tree.nodes:
        ref = ref_of(tree, name)
        for r in tree.resources:
            key = FlavorResource(DEFAULT_FLAVOR, r)
            assert tree.used(name, r) == forest.used(ref, key)
            assert tree.total(name, r) == forest.total(ref, key)
            assert tree.n(name, r) == forest.nominal(ref, key)
            assert tree.room(name, r) == forest.available(ref, key)
            assert empty.room(name, r) == forest.potential(ref, key)


def judge(dice: Random, tree: NaiveTree, forest: Forest) -> None:
    """Fail unless a random request is judged as the definitions say."""
    name, asked = dice.choice(leaves(tree)), a_charge(dice, tree)
    ref, after = ref_of(tree, name), tree.with_charge(name, asked)
    wanted = [r for r, amount in sorted(asked.items()) if amount]

    lacking = [r for r in wanted if asked[r] > tree.room(name, r)]
    shortage = forest.shortage(ref, keyed(asked))

    assert (not lacking) is forest.fits(ref, keyed(asked))
    assert lacking[:1] == ([] if shortage is None else [shortage.key.resource])
    borrows = any(after.borrowed(name, r) for r in wanted)
    assert borrows is forest.borrows(ref, keyed(asked))


@given(seed=SEEDS)
def test_a_state_is_reckoned_as_it_is_defined(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    forest = forest_of(tree)

    compare(tree, forest)
    for _ in range(3):
        judge(dice, tree, forest)


@given(seed=SEEDS)
def test_charges_and_releases_in_any_order_leave_the_sums(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    forest = forest_of(tree)
    done: list[tuple[str, dict[str, int]]] = []

    for _ in range(dice.randint(1, 8)):
        if done and dice.random() < 0.4:
            name, charge = done.pop(dice.randrange(len(done)))
            forest.release(ref_of(tree, name), keyed(charge))
            tree = tree.with_charge(name, {r: -amount for r, amount in charge.items()})
        else:
            name, charge = dice.choice(leaves(tree)), a_charge(dice, tree)
            done.append((name, charge))
            forest.charge(ref_of(tree, name), keyed(charge))
            tree = tree.with_charge(name, charge)

    compare(tree, forest)


@given(seed=SEEDS)
def test_copies_know_nothing_of_charges_in_each_other(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    both = [(tree, forest_of(tree))]
    compare(*both[0])

    both.append((tree, both[0][1].copy()))
    for _ in range(3):
        i = dice.randrange(2)
        name, charge = dice.choice(leaves(tree)), a_charge(dice, tree)
        both[i][1].charge(ref_of(tree, name), keyed(charge))
        both[i] = both[i][0].with_charge(name, charge), both[i][1]
        for each in both:
            compare(*each)
            judge(dice, *each)


@given(seed=SEEDS)
def test_no_queue_is_ever_over_its_limit_and_guarantees_are_kept(seed: int) -> None:
    dice = dice_of(seed)
    tree = a_tree(dice)
    forest = forest_of(tree)

    for _ in range(dice.randint(1, 15)):
        name, charge = dice.choice(leaves(tree)), a_charge(dice, tree)
        if forest.fits(ref_of(tree, name), keyed(charge)):
            forest.charge(ref_of(tree, name), keyed(charge))
            tree = tree.with_charge(name, charge)

    for name in tree.nodes:
        for r in tree.resources:
            limit = tree.nodes[name].limit.get(r)
            assert limit is None or tree.total(name, r) <= limit
            # What is guaranteed is there for the queue, however much the others have.
            assert tree.avail(name, r) >= max(0, tree.g(name, r) - tree.used(name, r))
            most = tree.nodes[name].borrowing.get(r)
            is_root = tree.nodes[name].parent is None
            assert is_root or most is None or tree.borrowed(name, r) <= most


@given(seed=SEEDS)
def test_what_queues_borrow_is_lent_by_others_or_comes_from_a_pool(seed: int) -> None:
    dice = dice_of(seed)
    tree = fill(dice, a_tree(dice))
    figures = {each.queue.ref: each.amounts for each in forest_of(tree).figures()}

    for name in tree.nodes:
        for r in tree.resources:
            of = {
                child: figures[ref_of(tree, child)][FlavorResource(DEFAULT_FLAVOR, r)]
                for child in tree.children(name)
            }
            beyond = sum(each.borrowed for each in of.values()) - tree.nodes[name].nominal[r]
            lent = sum(each.lent for each in of.values())
            assert not of or max(0, beyond) == lent + tree.borrowed(name, r)
            for child, each in of.items():
                idle = tree.n(child, r) - max(tree.g(child, r), tree.used(child, r))
                assert 0 <= each.lent <= max(0, idle)
                assert tree.c(child, r) == each.nominal
