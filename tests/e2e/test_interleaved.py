"""Two gangs that can never both fit, created member by member in turn: one runs, none in part."""

import concurrent.futures
from collections import Counter
from functools import partial
from itertools import chain

import pytest

from e2e.support.manifests import Manifest, members, pod_group
from e2e.support.namespaces import Namespace
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.usefixtures("scheduler")]

PAIRS_AT_ONCE = 10
ROUNDS = 10
SIZE = 4


def test_a_hundred_pairs_never_deadlock_and_never_run_in_part(namespace: Namespace) -> None:
    for pair in range(PAIRS_AT_ONCE):
        namespace.own_nodes(SIZE, labels={"pair": str(pair)})
    gangs: list[tuple[str, str]] = []
    with namespace.watch() as watcher:
        for number in range(ROUNDS):
            round_of_pairs = [(f"a{number}-{i}", f"b{number}-{i}") for i in range(PAIRS_AT_ONCE)]
            gangs += round_of_pairs
            create_interleaved(namespace, round_of_pairs)
            watcher.wait_until(partial(one_of_each_is_whole, round_of_pairs))
            winners = whole(round_of_pairs, watcher)
            # The losers first: once the winners are deleted, they would have room.
            namespace.delete_gangs(*(set(chain(*round_of_pairs)) - winners))
            namespace.delete_gangs(*winners)
            watcher.wait_until(lambda seen: not seen.states)

        assert PAIRS_AT_ONCE * ROUNDS == len(gangs) == 100
        assert [] == watcher.partial_gangs(dict.fromkeys(chain(*gangs), SIZE))
    ever_bound = [sorted(len(watcher.ever_bound(name)) for name in pair) for pair in gangs]
    assert [[0, SIZE]] * 100 == ever_bound


def create_interleaved(namespace: Namespace, pairs: list[tuple[str, str]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(PAIRS_AT_ONCE) as pool:
        for done in [
            pool.submit(namespace.create_in_order, interleaved(names, {"pair": str(i)}, namespace))
            for i, names in enumerate(pairs)
        ]:
            done.result()


def interleaved(
    names: tuple[str, str], where: dict[str, str], namespace: Namespace
) -> list[Manifest]:
    """Each node of the pair takes one pod, so each gang needs all of its nodes."""
    on = {**namespace.here, **where}
    first, second = (members(name, SIZE, cpu=20, on=on) for name in names)
    in_turn = chain(*zip(first, second, strict=True))
    return [*(pod_group(name, SIZE) for name in names), *in_turn]


def one_of_each_is_whole(pairs: list[tuple[str, str]], seen: controlplane.Watcher) -> bool:
    return len(whole(pairs, seen)) == len(pairs)


def whole(pairs: list[tuple[str, str]], seen: controlplane.Watcher) -> set[str]:
    bound = Counter(pod.gang for pod in seen.states.values() if pod.node)
    return {name for name in chain(*pairs) if bound[name] == SIZE}
