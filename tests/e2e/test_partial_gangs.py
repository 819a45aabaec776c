"""A gang that a crash left bound in part is finished, reported or released; lost answers are not.

A proxy before the API server decides which bindings get through.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.support.fault_proxy import HOLD, LOSE_ANSWER, LOSE_REQUEST, PASS, Fault, FaultProxy
from e2e.support.manifests import Manifest, gang, members, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = pytest.mark.e2e

SIZE = 5
TIMEOUT_SECONDS = 3
PLAN_ID, PLAN_SIZE = "py-gang-scheduler.io/plan-id", "py-gang-scheduler.io/plan-size"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: no other operator shall bind what ours was kept from."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.mark.parametrize("bound", [1, 2, 4])
def test_what_was_not_bound_when_the_operator_was_killed_is_bound_by_the_next(
    lasting: Start, proxy: FaultProxy, namespace: Namespace, bound: int
) -> None:
    namespace.own_nodes(1, cpu=SIZE)
    crash_after(bound, gang("a", SIZE, on=namespace.here), lasting, proxy, namespace)

    plans = {plan_of(namespace, name) for name in namespace.bound("a-")}
    ((plan, size),) = plans
    assert plan
    assert str(SIZE) == size
    lasting()

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    rest = {plan_of(namespace, name) for name in namespace.bound("a-")} - plans
    assert {str(SIZE - bound)} == {size for _, size in rest}
    eventually("True", lambda: condition(namespace, "a", "Scheduled"))
    assert condition(namespace, "a", "PartiallyBound") in (None, "False")


def test_a_rest_without_room_is_reported_and_by_default_held(
    lasting: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    leave_a_rest_without_room(lasting, proxy, namespace)
    lasting()

    eventually("True", lambda: condition(namespace, "a", "PartiallyBound"))
    eventually("True", lambda: condition(namespace, "a", "SchedulingTimeout"))
    said = namespace.condition_of_gang("a", "PartiallyBound")
    assert f"2 of {SIZE} members are bound" in said["message"]
    # What would have been released would be gone soon after.
    with pytest.raises(AssertionError):
        until(lambda: len(namespace.bound("a-")) != 2, timeout_seconds=5)

    namespace.delete("pods", "stranger")

    eventually(SIZE, lambda: len(namespace.bound("a-")))
    eventually("False", lambda: condition(namespace, "a", "PartiallyBound"))


def test_a_rest_without_room_is_released_where_the_settings_say_so(
    lasting: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    leave_a_rest_without_room(lasting, proxy, namespace)
    namespace.create(*gang("waiting", 4, on=namespace.here))
    lasting("--on-partial-gang=Release")

    # Held until the timeout, deleted then: the gang that waited has the room.
    eventually("True", lambda: condition(namespace, "a", "PartiallyBound"))
    assert 2 == len(namespace.bound("a-"))
    eventually(4, lambda: len(namespace.bound("waiting-")))
    assert {} == namespace.bound("a-")
    assert {"a-0", "a-1", "a-2", "a-3", "a-4"} > {
        p["metadata"]["name"] for p in pods_of_a(namespace)
    }
    assert 3 == len(pods_of_a(namespace))


def test_a_gang_that_runs_and_lost_a_member_is_never_released(
    lasting: Start, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE)
    namespace.create(*gang("a", SIZE, timeout_seconds=TIMEOUT_SECONDS, on=namespace.here))
    first = lasting("--on-partial-gang=Release")
    eventually("Running", lambda: namespace.phase("a"))
    eventually("True", lambda: condition(namespace, "a", "Scheduled"))
    first.kill()
    namespace.delete("pods", "a-4")
    namespace.create(pod("stranger", scheduler="somebody-else"))
    namespace.bind("stranger", namespace.bound("a-")["a-0"])
    namespace.create(*members("a", 1, first=4, on=namespace.here))

    lasting("--on-partial-gang=Release")

    eventually("Unschedulable", lambda: namespace.condition_of_pod("a-4").get("reason"))
    with pytest.raises(AssertionError):
        until(lambda: len(namespace.bound("a-")) != 4, timeout_seconds=TIMEOUT_SECONDS + 3)
    assert condition(namespace, "a", "PartiallyBound") in (None, "False")


def test_an_annotation_gang_that_ran_and_lost_a_member_is_never_released(
    lasting: Start, namespace: Namespace
) -> None:
    """Nothing but the plan on its pods tells the next operator that it was whole."""
    (node,) = namespace.own_nodes(1, cpu=3)
    everyone = [annotated(f"a-{number}", 3, namespace) for number in range(3)]
    namespace.create(*everyone)
    first = lasting("--on-partial-gang=Release")
    eventually(3, lambda: len(namespace.bound("a-")))
    first.kill()
    namespace.delete("pods", "a-2")
    namespace.create(pod("stranger", scheduler="somebody-else"))
    namespace.bind("stranger", node)
    namespace.wait_for_the_next_second()
    namespace.create(everyone[2])

    lasting("--on-partial-gang=Release")

    eventually("Unschedulable", lambda: namespace.condition_of_pod("a-2").get("reason"))
    with pytest.raises(AssertionError):
        until(lambda: len(namespace.bound("a-")) != 2, timeout_seconds=TIMEOUT_SECONDS + 3)


def test_what_a_gang_lost_while_no_operator_ran_is_replaced_one_by_one(
    lasting: Start, namespace: Namespace
) -> None:
    """Nothing but the plan on its pods tells the next operator that it was whole."""
    namespace.own_nodes(1, cpu=4)
    everyone = [annotated(f"a-{number}", 4, namespace) for number in range(4)]
    namespace.create(*everyone)
    first = lasting()
    eventually(4, lambda: len(namespace.bound("a-")))
    first.kill()
    namespace.delete("pods", "a-2")
    namespace.delete("pods", "a-3")
    namespace.wait_for_the_next_second()
    lasting()

    namespace.create(everyone[3])

    eventually({"a-0", "a-1", "a-3"}, lambda: set(namespace.bound("a-")))


def test_the_rest_goes_before_other_gangs_of_its_priority(
    lasting: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE)
    # Older, and complete only when the operator is gone.
    namespace.create(pod_group("older", 3))
    namespace.wait_for_the_next_second()
    crash_after(2, gang("a", SIZE, on=namespace.here), lasting, proxy, namespace)
    namespace.create(*members("older", 3, on=namespace.here))

    with namespace.watch() as watcher:
        lasting()

        watcher.wait_until(lambda seen: len(seen.bound("a")) == SIZE)
        assert set() == watcher.ever_bound("older")


FAULTS: dict[str, Callable[[int, str], Fault | None]] = {
    "every answer is lost once": lambda number, _: LOSE_ANSWER if number <= SIZE else PASS,
    "every request is lost once": lambda number, _: LOSE_REQUEST if number <= SIZE else PASS,
    "every second answer is lost": lambda number, _: LOSE_ANSWER if number % 2 else PASS,
    "throttled": lambda number, _: (
        Fault(status=429, headers={"Retry-After": "1"}) if number <= SIZE else PASS
    ),
    "500 four times": lambda number, pod: (
        Fault(status=500) if pod == "a-2" and number <= SIZE + 3 else PASS
    ),
    "bound and 500 all the same": lambda number, _: (
        Fault(forward=True, status=500) if number <= SIZE else PASS
    ),
    "409 for one": lambda number, pod: (
        Fault(status=409) if pod == "a-3" and number <= SIZE else PASS
    ),
    "409 for all": lambda number, _: Fault(status=409) if number <= SIZE else PASS,
    "409 and bound": lambda number, _: Fault(forward=True, status=409) if number <= SIZE else PASS,
    "403 for one": lambda number, pod: (
        Fault(status=403) if pod == "a-3" and number <= SIZE else PASS
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_with_faulty_bindings_the_gang_ends_whole_and_no_node_is_over_committed(
    lasting: Start, proxy: FaultProxy, namespace: Namespace, fault: str
) -> None:
    nodes = namespace.own_nodes(3, cpu=2)
    choose = FAULTS[fault]
    lasting()
    with namespace.watch() as watcher:
        proxy.start_over(choose)
        namespace.create(*gang("a", SIZE, on=namespace.here))
        eventually(SIZE, lambda: len(namespace.bound("a-")))
        # One slot is left: a scheduler that miscounts gives it away twice.
        namespace.create(*gang("b", 2, on=namespace.here))
        namespace.create(pod("c", on=namespace.here), pod("d", on=namespace.here))
        until(lambda: {"c", "d"} & set(namespace.bound()))

        eventually("True", lambda: condition(namespace, "a", "Scheduled"))
        assert {1} == set(Counter(binding[0] for binding in successes(proxy)).values())
        assert SIZE + 1 == len(namespace.bound())
        assert set() == watcher.ever_bound("b")
    used = Counter(namespace.bound().values())
    assert dict.fromkeys(nodes, 2) == dict(used)


def test_a_member_that_another_scheduler_bound_meanwhile_is_left_where_it_is(
    lasting: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    first, second = namespace.own_nodes(2, cpu=SIZE)
    lasting()
    proxy.start_over(lambda _, pod: HOLD if pod == "a-0" else PASS)
    namespace.create(*gang("a", SIZE, on=namespace.here))
    until(lambda: proxy.held)
    eventually(SIZE - 1, lambda: len(namespace.bound("a-")))
    other = second if set(namespace.bound("a-").values()) == {first} else first
    namespace.bind("a-0", other)
    proxy.start_over()

    eventually("True", lambda: condition(namespace, "a", "Scheduled"))
    assert other == namespace.node_of("a-0")
    # The slot that was meant for it is free.
    namespace.create(*gang("b", SIZE, on=namespace.here))
    eventually(SIZE, lambda: len(namespace.bound("b-")))
    assert {first: SIZE, second: SIZE} == dict(Counter(namespace.bound().values()))


def crash_after(
    bound: int, documents: list[Manifest], lasting: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    """Create a gang, let so many members be bound, and kill the operator before the next."""
    proxy.start_over(lambda number, _: PASS if number <= bound else HOLD)
    scheduler = lasting()
    namespace.create(*documents)
    held = sum(each["kind"] == "Pod" for each in documents) - bound
    eventually(bound, lambda: len(namespace.bound("a-")))
    eventually(held, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()
    assert bound == len(namespace.bound("a-"))


def leave_a_rest_without_room(lasting: Start, proxy: FaultProxy, namespace: Namespace) -> None:
    """Leave a gang with 2 of 5 members bound, and one slot less than the rest needs."""
    (node,) = namespace.own_nodes(1, cpu=SIZE)
    a = gang("a", SIZE, timeout_seconds=TIMEOUT_SECONDS, on=namespace.here)
    crash_after(2, a, lasting, proxy, namespace)
    namespace.create(pod("stranger", scheduler="somebody-else"))
    namespace.bind("stranger", node)


def annotated(name: str, minimum: int, namespace: Namespace) -> Manifest:
    made = pod(name, on=namespace.here)
    prefix = "gang.scheduling.koordinator.sh/"
    made["metadata"]["annotations"] = {
        f"{prefix}name": "a",
        f"{prefix}min-available": str(minimum),
        f"{prefix}waiting-time": f"{TIMEOUT_SECONDS}s",
    }
    return made


def successes(proxy: FaultProxy) -> list[tuple[str, int]]:
    return [(name, status) for name, status in proxy.statuses if status < 400]


def plan_of(namespace: Namespace, name: str) -> tuple[str, str]:
    found = namespace.get("pods", name)["metadata"]["annotations"]
    return found[PLAN_ID], found[PLAN_SIZE]


def pods_of_a(namespace: Namespace) -> list[Manifest]:
    return [p for p in namespace.every("pods") if p["metadata"]["name"].startswith("a-")]


def condition(namespace: Namespace, name: str, kind: str) -> str | None:
    found: str | None = namespace.condition_of_gang(name, kind).get("status")
    return found
