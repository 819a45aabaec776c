"""By which names texts are withheld: also those of objects that are gone."""

from dataclasses import replace

import pytest

from gang_scheduler.page.names import GONE_SECONDS, Names
from gang_scheduler.page.view import View
from gang_scheduler.page.viewers import PartialViews, Viewer, namespaces_of, note, partial
from gang_scheduler.simulation.snapshot_files import Told
from support.call_counts import calls_of
from support.followed import Followed
from support.listed_clusters import gang, node, queue

MINE = gang("mine", 1, namespace="red", queue="crimson")
HUSH = gang("hush", 1, namespace="foreign", queue="navy")
NOTE = "makes room for foreign/hush"
TENANT = Viewer(frozenset({"red"}), nodes=False, queues=False)


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def followed() -> Followed:
    return Followed([node("node-0"), queue("navy", 8), queue("crimson", 8), *MINE, *HUSH])


def end_hush(followed: Followed) -> None:
    """Delete all that has the name, and the queue."""
    followed.delete("PodGroup", "hush", "foreign")
    followed.delete("Pod", "hush-0", "foreign")
    followed.delete("Queue", "navy", "")


def with_note(seen: View) -> View:
    """Return a view with a decision that names the foreign gang."""
    decision = Told(namespace="red", name="mine", reason="Preempted", note=NOTE, first=1)
    return replace(seen, told=(decision,))


def shown(seen: View, names: Names, text: str) -> bool:
    return partial(seen, TENANT, names).may_say(text)


@pytest.mark.parametrize("name", ["foreign/hush", "hush-0", "foreign", "navy"])
def test_a_request_that_waited_while_objects_went_hides_their_names(
    name: str, followed: Followed
) -> None:
    views = PartialViews()
    seen = followed.view()
    views.note(seen)
    end_hush(followed)
    views.note(followed.view())

    for each in (seen, followed.view()):
        assert not views.of(each, TENANT).may_say(f"makes room for {name}")


def test_a_request_that_waited_while_objects_came_hides_their_names(followed: Followed) -> None:
    views = PartialViews()
    seen = followed.view()
    views.note(seen)
    for each in gang("fresh", 1, namespace="later"):
        followed.put(each)
    views.note(followed.view())

    assert not views.of(seen, TENANT).may_say("makes room for later/fresh")
    assert not views.of(seen, TENANT).may_say("makes room for fresh")


def test_a_name_is_forgotten_an_hour_or_two_after_its_object_unless_a_decision_has_it(
    followed: Followed, clock: list[float]
) -> None:
    plain, told = Names(lambda: clock[0]), Names(lambda: clock[0])
    for each in (plain, told):
        note(each, followed.view())
    end_hush(followed)
    found = []
    for _ in range(24):
        clock[0] += GONE_SECONDS
        seen = followed.view()
        note(plain, seen)
        note(told, with_note(seen))
        found.append((shown(seen, plain, NOTE), shown(seen, told, NOTE)))

    assert [(False, False), (True, False)] == found[:2]
    assert {(True, False)} == {*found[2:]}


def test_a_name_that_is_still_there_is_never_forgotten(
    followed: Followed, clock: list[float]
) -> None:
    names, seen = Names(lambda: clock[0]), followed.view()
    for _ in range(4):
        note(names, seen)
        clock[0] += GONE_SECONDS
        assert not shown(seen, names, NOTE)


def test_where_nothing_has_changed_no_object_is_looked_at(followed: Followed) -> None:
    names = Names()
    note(names, followed.view())
    same = followed.view()
    calls = calls_of(lambda: note(names, same))

    assert 1 == calls["names.Names.note"]
    assert 0 == calls["names.Names._note_objects"]


def test_the_namespaces_of_a_view_stay_as_they_were(followed: Followed) -> None:
    seen = followed.view()
    end_hush(followed)
    after = followed.view()

    assert {"red", "foreign"} == namespaces_of(seen)
    assert {"red"} == namespaces_of(after)


def test_the_names_that_are_no_tokens_are_copied_once_a_view(followed: Followed) -> None:
    replaced: list[int] = []

    class Watched(Names):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "unusual":
                replaced.append(1)
            super().__setattr__(name, value)

    names, seen = Watched(), followed.view()
    told = [
        Told(namespace="red", name=f"a_{number}", reason="Waits", note="", first=1)
        for number in range(1_000)
    ]
    replaced.clear()
    names.note(seen.cluster, told, (), ())

    assert 1 == len(replaced)
    assert 1_000 == len([each for each in names.unusual if each.startswith("a_")])
