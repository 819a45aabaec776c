"""By which names texts are withheld: also those of objects that are gone."""

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page.restricted_views import PartialViews, Viewer, namespaces_of, note, partial
from gang_scheduler.page.view import View
from gang_scheduler.page.withheld_names import GONE_SECONDS, TOKEN, Names
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
    decision = SchedulerEvent(namespace="red", name="mine", reason="Preempted", note=NOTE, first=1)
    return replace(seen, events=(decision,))


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

    assert 1 == calls["withheld_names.Names.note"]
    assert 0 == calls["withheld_names.Names._note_objects"]


def test_the_namespaces_of_a_view_stay_as_they_were(followed: Followed) -> None:
    seen = followed.view()
    end_hush(followed)
    after = followed.view()

    assert {"red", "foreign"} == namespaces_of(seen)
    assert {"red"} == namespaces_of(after)


NAMELESS = ("  ", ".", "=", ": ")
WITH_SIGNS = ("hush hush", "a_b", "of_hush", "団体", "hush_")


def annotated(name: str, number: int) -> dict[str, Any]:
    """Return a pod of a foreign namespace whose gang has any name, by an annotation."""
    made = copy.deepcopy(gang("x", 1, namespace="foreign")[-1])
    said = {"gang.scheduling.koordinator.sh/name": name}
    said["gang.scheduling.koordinator.sh/min-available"] = "1"
    made["metadata"] |= {"name": f"foreign-{number}", "labels": {}, "annotations": said}
    return made


def owned(name: str, number: int) -> dict[str, Any]:
    """Return a pod of a foreign namespace whose owner has any name."""
    made = copy.deepcopy(gang("x", 1, namespace="foreign")[-1])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "u", "controller": True}
    made["metadata"] |= {"name": f"owned-{number}", "labels": {}, "ownerReferences": [owner]}
    return made


def test_names_that_others_choose_withhold_no_event_of_a_tenant(followed: Followed) -> None:
    def told() -> tuple[object, ...]:
        names, seen = Names(), followed.view()
        note(names, seen)
        own = partial(seen, TENANT, names)
        answer = own.explained("mine", "red").document
        assert answer is not None
        return own.rows[0].wait, answer.summary, answer.where, answer.would_start, answer.not_known

    followed.put(node("node-0", gpus=0))
    before = told()
    words = {each for text in texts_in(before) for each in TOKEN.findall(text)}
    chosen = [*NAMELESS, *sorted(words - {"red", "mine", "crimson"})]
    for number, each in enumerate(chosen):
        followed.put(annotated(each, number))
        followed.put(owned(each, number))

    assert len(words) > 20
    assert before == told()


def texts_in(value: object) -> list[str]:
    """Return all texts of an answer."""
    return re.findall(r"'([^']*)'", repr(value))


@pytest.mark.parametrize("name", WITH_SIGNS)
def test_a_foreign_name_with_any_signs_is_hidden(name: str, followed: Followed) -> None:
    followed.put(annotated(name, 0))
    names, seen = Names(), followed.view()
    note(names, seen)

    assert not shown(seen, names, f"makes room for foreign/{name}")
    assert not shown(seen, names, f"makes room for {name}.")


def test_a_text_costs_the_same_however_many_names_there_are(followed: Followed) -> None:
    def cost() -> int:
        names, seen = Names(), followed.view()
        note(names, seen)
        tenant = partial(seen, TENANT, names)
        return calls_of(lambda: tenant.may_say("needs 8 of a kind")).total()

    before = cost()
    for number in range(200):
        followed.put(annotated(f"of {number}: a name with signs", number))

    assert before == cost()


def test_a_pod_with_the_name_of_a_node_or_a_queue_tells_nothing_of_it(followed: Followed) -> None:
    for name in ("node-0", "navy"):
        for each in gang(name, 1, namespace="red", queue="crimson"):
            followed.put(each)
    names, seen = Names(), followed.view()
    note(names, seen)

    assert not shown(seen, names, "no room on node-0")
    assert not shown(seen, names, "behind queue navy")
