"""Gangs that start together with others, and mistakes in declaring it that harm no other gang."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from e2e.support import gang_manifests, manifests
from e2e.support.gang_watcher import GangWatcher
from e2e.support.manifests import GANG_LABEL, Manifest, gang, members, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("audited", "scheduler")]

GROUPS = f"metadata.annotations[{gang_manifests.PREFIX}/groups]"


@pytest.fixture
def elsewhere(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Make the namespace of another team."""
    with Namespace(plane, "elsewhere") as made:
        yield made


def group(namespace: Namespace, names: str, *named: str, count: int = 2) -> list[Manifest]:
    """Return a gang that names others."""
    made = gang_manifests.grouped(pod_group(names, count), *named)
    return [made, *members(names, count, on=namespace.here)]


def create_the_one_that_names_first(
    namespace: Namespace, naming: list[Manifest], named: list[Manifest]
) -> None:
    """Create two gangs, the second once the group is known: else it may start without the first."""
    namespace.create(*naming)
    eventually("WaitingForGangs", lambda: reason(namespace, naming[0]["metadata"]["name"]))
    namespace.create(*named)


def test_within_a_namespace_one_side_is_enough_and_the_group_is_the_union(
    namespace: Namespace,
) -> None:
    here = namespace.name
    documents = [
        *group(namespace, "a", f"{here}/b"),
        *group(namespace, "b"),
        *group(namespace, "c", f"{here}/b"),
    ]
    # What a gang is named by later, when it has started, is too late.
    documents.sort(key=lambda document: document["kind"] != "PodGroup")

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, documents, {"a": 2, "b": 2, "c": 2})

    eventually({"Running"}, lambda: {namespace.phase(name) for name in "abc"})


def test_a_gang_waits_for_one_that_does_not_exist_yet(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        namespace.create(*group(namespace, "a", f"{namespace.name}/b"))
        eventually("WaitingForGangs", lambda: reason(namespace, "a"))
        assert f"gang {namespace.name}/b" in message(namespace, "a")
        eventually("WaitingForGangs", lambda: namespace.condition_of_pod("a-0").get("reason"))
        assert set() == watcher.ever_bound("a")

        # It is there now, but short of a member.
        namespace.create(pod_group("b", 2), *members("b", 1, on=namespace.here))
        eventually("WaitingForMembers", lambda: reason(namespace, "b"))
        until(lambda: "1 of minMember 2" in message(namespace, "a"))
        assert set() == watcher.ever_bound("a")

        namespace.create(*members("b", 1, first=1, on=namespace.here))
        eventually(4, lambda: len(namespace.bound()))


def test_each_gang_of_a_group_keeps_its_own_min_member(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=4)
    master = gang_manifests.grouped(pod_group("master", 1), f"{namespace.name}/worker")
    namespace.create(
        master,
        # Both say it, so that either is known to be in a group, whichever is seen first.
        gang_manifests.grouped(pod_group("worker", 3), f"{namespace.name}/master"),
        *members("master", 1, on=namespace.here),
        *members("worker", 5, on=namespace.here),
    )

    # Four of six fit: the master and the workers' quorum.
    eventually(4, lambda: len(namespace.bound()))
    assert ["master-0"] == list(namespace.bound("master"))


def test_annotation_gangs_can_be_a_group(namespace: Namespace) -> None:
    names = f'["{namespace.name}/b"]'
    documents = [
        *gang_manifests.annotated(
            "a", 2, {f"{gang_manifests.PREFIX}/groups": names}, on=namespace.here
        ),
        *gang_manifests.annotated("b", 2, on=namespace.here),
    ]

    gang_manifests.must_be_bound_whole_or_not_at_all(namespace, documents, {"a": 2, "b": 2})


def test_across_namespaces_gangs_that_name_each_other_start_together(
    namespace: Namespace, elsewhere: Namespace
) -> None:
    namespace.own_nodes(1, cpu=3)
    with GangWatcher(namespace.cluster) as watcher:
        namespace.create(*group(namespace, "a", f"{elsewhere.name}/b"))
        eventually("WaitingForGangs", lambda: reason(namespace, "a"))
        elsewhere.create(*group(namespace, "b", f"{namespace.name}/a"))
        until(lambda: "Insufficient cpu" in message(namespace, "a") + message(elsewhere, "b"))
        assert {} == namespace.bound() | elsewhere.bound()

        namespace.own_nodes(1, cpu=1)
        eventually(2, lambda: len(namespace.bound("a")))
        eventually(2, lambda: len(elsewhere.bound("b")))
        quorums = {f"{namespace.name}/a": 2, f"{elsewhere.name}/b": 2}
        assert [] == watcher.partial_gangs(quorums)


def test_across_namespaces_a_gang_that_is_not_named_in_turn_goes_on_without(
    namespace: Namespace, elsewhere: Namespace
) -> None:
    namespace.own_nodes(1)
    elsewhere.create(*group(namespace, "b"))
    namespace.create(*group(namespace, "a", f"{elsewhere.name}/b"))

    eventually(2, lambda: len(elsewhere.bound("b")))
    must_say_that_it_is_invalid(namespace, "a", f"{GROUPS} of {namespace.name}/a")
    assert f"{elsewhere.name}/b" in message(namespace, "a")
    assert {} == namespace.bound()

    # Put right, it starts: b has started long ago, and a group expects no more of it.
    annotate(namespace, "a", "groups", "[]")
    eventually(2, lambda: len(namespace.bound("a")))


def test_when_one_gang_of_a_waiting_group_is_deleted_the_one_that_named_it_waits_for_it(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=3)
    create_the_one_that_names_first(
        namespace, group(namespace, "a", f"{namespace.name}/b"), group(namespace, "b")
    )
    until(lambda: "Insufficient cpu" in message(namespace, "a") + message(namespace, "b"))

    namespace.delete_gangs("b")

    eventually("WaitingForGangs", lambda: reason(namespace, "a"))
    until(lambda: f"gang {namespace.name}/b" in message(namespace, "a"))
    assert {} == namespace.bound()
    namespace.create(*group(namespace, "b", count=1))
    eventually(3, lambda: len(namespace.bound()))


def test_when_one_gang_of_a_waiting_group_is_deleted_the_one_that_it_named_is_free(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=3)
    create_the_one_that_names_first(
        namespace, group(namespace, "a", f"{namespace.name}/b"), group(namespace, "b")
    )
    until(lambda: "Insufficient cpu" in message(namespace, "a") + message(namespace, "b"))
    assert {} == namespace.bound()

    namespace.delete_gangs("a")

    eventually(2, lambda: len(namespace.bound("b")))


def test_a_group_may_change_while_it_waits(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    here = namespace.name
    create_the_one_that_names_first(
        namespace, group(namespace, "a", f"{here}/b", f"{here}/absent"), group(namespace, "b")
    )
    eventually({"WaitingForGangs"}, lambda: {reason(namespace, name) for name in "ab"})
    until(lambda: "absent" in message(namespace, "a") and "absent" in message(namespace, "b"))
    assert {} == namespace.bound()

    annotate(namespace, "a", "groups", f'["{here}/b"]')

    eventually(4, lambda: len(namespace.bound()))


BAD_ANNOTATIONS = {
    "groups": "[not json",
    "mode": "Sometimes",
    "match-policy": "whenever",
    "waiting-time": "soon",
    "total-number": "many",
}


@pytest.mark.parametrize(("key", "value"), BAD_ANNOTATIONS.items(), ids=BAD_ANNOTATIONS)
def test_a_bad_annotation_of_a_pod_group_is_named_and_others_go_on(
    namespace: Namespace, key: str, value: str
) -> None:
    namespace.own_nodes(1)
    bad = gang_manifests.annotated_group(pod_group("bad", 2), key, value)
    namespace.create(bad, *members("bad", 2, on=namespace.here))
    namespace.create(*gang("good", 2, on=namespace.here))

    eventually("Running", lambda: namespace.phase("good"))
    must_say_that_it_is_invalid(
        namespace, "bad", f"metadata.annotations[{gang_manifests.PREFIX}/{key}]", value
    )
    assert {} == namespace.bound("bad")
    eventually("InvalidSpec", lambda: namespace.condition_of_pod("bad-0").get("reason"))


@pytest.mark.parametrize(("key", "value"), BAD_ANNOTATIONS.items(), ids=BAD_ANNOTATIONS)
def test_a_bad_annotation_of_an_annotation_gang_is_named_on_a_pod_and_others_go_on(
    namespace: Namespace, key: str, value: str
) -> None:
    namespace.own_nodes(1)
    bad = {f"{gang_manifests.PREFIX}/{key}": value}
    gang_manifests.create(namespace, *gang_manifests.annotated("bad", 2, bad, on=namespace.here))
    gang_manifests.create(namespace, *gang_manifests.annotated("good", 2, on=namespace.here))

    eventually(2, lambda: len(namespace.bound("good")))
    eventually("InvalidSpec", lambda: namespace.condition_of_pod("bad-0").get("reason"))
    notes = until(lambda: [*namespace.notes("bad-0", "InvalidGang")])
    for text in (namespace.condition_of_pod("bad-0")["message"], notes[0]):
        assert f"metadata.annotations[{gang_manifests.PREFIX}/{key}]" in text
        assert value in text
    assert {} == namespace.bound("bad")


def test_a_min_member_above_what_its_job_can_ever_have_is_named(namespace: Namespace) -> None:
    namespace.own_nodes(1)
    labels = {GANG_LABEL: "bad"}
    gang_manifests.create(
        namespace, pod_group("bad", 5), gang_manifests.job("j", 3, labels, on=namespace.here)
    )
    namespace.create(*gang("good", 2, on=namespace.here))

    eventually("Running", lambda: namespace.phase("good"))
    said = f"3 of minMember 5 members exist; Job {namespace.name}/j can have 3 at once"
    until(lambda: said in message(namespace, "bad"))
    assert {} == namespace.bound("j-")


@pytest.mark.alone
def test_a_bound_pod_cannot_delay_a_gang_of_another_namespace(
    namespace: Namespace, elsewhere: Namespace
) -> None:
    namespace.own_nodes(1)
    victims = [f"{kind}-{number}" for kind in ("group", "annotation", "job") for number in range(5)]
    names = [f"{namespace.name}/{each}" for each in victims]
    without = [seconds_to_bind(namespace, f"{each}0") for each in victims]
    gang_manifests.create(elsewhere, *attacks(names, victims, "0"))
    stop = threading.Event()
    attacker = threading.Thread(target=attack_until, args=(stop, elsewhere, names, victims))
    attacker.start()
    try:
        during = [seconds_to_bind(namespace, each) for each in victims]
    finally:
        stop.set()
        attacker.join()

    print(f"the slowest took {max(without):.2f} s without, {max(during):.2f} s with")
    assert max(during) < 2.0


def attacks(names: list[str], victims: list[str], suffix: str) -> Iterator[Manifest]:
    """Yield objects that name another's gangs in every form; none of them ever has a quorum."""
    claim = {f"{gang_manifests.PREFIX}/groups": "[" + ",".join(f'"{each}"' for each in names) + "]"}
    yield gang_manifests.grouped(pod_group(f"claims-{suffix}", 9), *names)
    yield from members(f"claims-{suffix}", 1)
    yield from gang_manifests.annotated(f"annotated-{suffix}", 1, claim)
    for number, (name, victim) in enumerate(zip(names, victims, strict=True)):
        mine = f"{suffix}-{number}"
        yield gang_manifests.grouped(pod_group(f"claim-{mine}", 9), name)
        # The names themselves, as far as they are names.
        yield from short(f"named-{mine}", {f"{gang_manifests.PREFIX}/name": name})
        yield from short(f"same-{mine}", {f"{gang_manifests.PREFIX}/name": victim})
        yield manifests.pod(f"labelled-{mine}", gang_name=victim, cpu=1000)


def short(name: str, annotations: dict[str, str]) -> Iterator[Manifest]:
    """Yield a pod whose gang will never be complete."""
    (made,) = gang_manifests.annotated(
        name, 1, {**annotations, f"{gang_manifests.PREFIX}/min-available": "9"}
    )
    yield made


def attack_until(
    stop: threading.Event, elsewhere: Namespace, names: list[str], victims: list[str]
) -> None:
    for number in itertools.count(1):
        if stop.is_set():
            return
        gang_manifests.create(elsewhere, *attacks(names, victims, str(number)))
        stop.wait(0.2)


def seconds_to_bind(namespace: Namespace, name: str) -> float:
    """Create a gang of two, bound or not, and return how long it took to be bound."""
    make: dict[str, Callable[[], list[Manifest]]] = {
        "group": lambda: gang(name, 2, cpu="100m", on=namespace.here),
        "annotation": lambda: gang_manifests.annotated(name, 2, cpu="100m", on=namespace.here),
        "job": lambda: [gang_manifests.job(name, 2, cpu="100m", on=namespace.here)],
    }
    gang_manifests.create(namespace, *make[name.partition("-")[0]]())
    started = time.monotonic()
    eventually(2, lambda: len(namespace.bound(f"{name}-")))
    return time.monotonic() - started


def must_say_that_it_is_invalid(namespace: Namespace, name: str, *words: str) -> None:
    """Look for condition and Event that name field and value."""
    eventually("True", lambda: namespace.condition_of_gang(name, "InvalidSpec").get("status"))
    eventually("InvalidSpec", lambda: reason(namespace, name))
    note = until(lambda: namespace.notes(name, "InvalidGang"))[0]
    for word in words:
        assert word in namespace.condition_of_gang(name, "InvalidSpec")["message"]
        assert word in note


def reason(namespace: Namespace, name: str) -> str | None:
    return namespace.condition_of_gang(name, "Scheduled").get("reason")


def message(namespace: Namespace, name: str) -> str:
    return str(namespace.condition_of_gang(name, "Scheduled").get("message", ""))


def annotate(namespace: Namespace, name: str, key: str, value: str) -> None:
    namespace.kubectl(
        "annotate", "--overwrite", f"gangs/{name}", f"{gang_manifests.PREFIX}/{key}={value}"
    )
