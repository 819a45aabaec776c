"""No reader gets a text that is longer than may be; what is cut is refused by name, and no more."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, inspect, json

import gang_scheduler
from fuzz import corpora
from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import PODS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import reader
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.decode.reader import Reader, Unreadable
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.wire import base as wire_texts
from gang_scheduler.wire.base import LONGEST_OF, LONGEST_TEXT, LONGEST_VALUE, Labelled, Metadata
from support import builders, cache_feeding, decoded
from support.api_objects import pod_body, pod_group_body

LONG = "9" * 250_000
READ_RAW = {
    "decode/devices/objects.py": "the beginning of a mark, which is only compared",
    "decode/known_keys.py": "how many there are",
    "decode/queues/naming.py": "which keys there are",
    "workloads/suspended.py": "a time, and what is shorter than LONGEST_ADDITION",
    "workloads/virtual_pods.py": "into Metadata",
    "report/checkpoints.py": "nothing: it writes one",
    "decode/workloads/members": "pods that are made of templates, which are read as others are",
}
"""What reads annotations of dicts, and what it reads."""


def test_an_object_without_a_long_text_is_the_same_object() -> None:
    body = pod_body("p", metadata={"annotations": {"x": "y" * (LONGEST_TEXT // 2)}})

    assert body is reader.bounded(body)


def test_each_long_text_is_cut_wherever_it_stands() -> None:
    body: dict[str, Any] = {"spec": {"a": [LONG, "b"], LONG: "c"}, "status": 5, "half": "\ud800"}

    found = reader.bounded(body)

    (cut, b), (key, c) = found["spec"]["a"], [*found["spec"].items()][1]
    assert ("b", "c", 5, "\ud800") == (b, c, found["status"], found["half"])
    assert cut == key[0:] if isinstance(key, str) else False
    assert f"... (250000 characters, of which {LONGEST_TEXT} may be)" in cut
    assert LONG == body["spec"]["a"][0]


def test_what_is_nested_deeper_than_any_field_is_null() -> None:
    deep: Any = LONG
    for _ in range(900):
        deep = [deep]

    assert len(str(reader.bounded({"spec": deep}))) < 1000


def test_every_kind_is_read_from_bounded_objects() -> None:
    seen: list[Any] = []

    def rule(obj: Any, why: InvalidField, known: object) -> None:
        seen.append((obj, why, known))

    reader: Reader[Any] = Reader(kind="Pod", versions=(PODS,), read=seen.append, if_unreadable=rule)
    reader.read({"spec": LONG})
    assert not isinstance(reader.if_unreadable, Unreadable)
    reader.if_unreadable({"spec": LONG}, InvalidField("f", None, ""), None)

    assert [True, True] == [len(each["spec"]) < 200 for each in (seen[0], seen[1][0])]


def test_labels_and_annotations_are_in_metadata_alone_which_cuts_them() -> None:
    """So no struct hands out a value that was not bounded."""
    for struct in corpora.structs():
        found = inspect.type_info(struct)
        assert isinstance(found, inspect.StructType)
        if not issubclass(struct, Labelled):
            assert {"labels", "annotations"}.isdisjoint(each.name for each in found.fields)
    for key in ("x", *LONGEST_OF):
        present = json.decode(json.encode({"annotations": {key: LONG}}), type=Metadata).annotations
        assert len(present[key]) < 200
    assert LONGEST_VALUE > len(Metadata(labels={"x": LONG}).labels["x"])


def test_who_reads_annotations_of_dicts_is_known() -> None:
    package = Path(gang_scheduler.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for part in ("decode", "state", "report")
        for path in (package / part).rglob("*.py")
        if '"annotations"' in path.read_text()
    }

    assert [] == [each for each in found if not each.startswith(tuple(READ_RAW))]


@pytest.mark.parametrize("key", sorted(LONGEST_OF))
def test_what_is_a_list_or_an_object_may_be_longer(key: str) -> None:
    text = "x" * LONGEST_OF[key]

    assert text == Metadata(annotations={key: text}).annotations[key]
    assert text != Metadata(annotations={key: text + "x"}).annotations[key]


def test_an_annotation_of_kubectl_may_be_as_long_as_it_likes() -> None:
    key = "kubectl.kubernetes.io/last-applied-configuration"

    found = decoded.pod(pod_body("p", metadata={"annotations": {key: LONG}}))

    assert found.problem is None


@pytest.mark.parametrize(
    "key",
    [
        annotations.EXPECTED_DURATION,
        annotations.FORCE_DELETE_STUCK_PODS,
        annotations.GANG_NAME,
        annotations.ELASTIC,
        annotations.CHECKPOINT,
        annotations.KUEUE_QUEUE,
        annotations.NETWORK_TOPOLOGY_INDEX,
    ],
)
def test_the_annotation_of_a_pod_that_is_too_long_is_named_and_all_others_count(key: str) -> None:
    found = decoded.pod(pod_body("p", metadata={"annotations": {key: LONG}}))

    assert found.problem is not None
    assert Reason.INVALID_SPEC is found.problem.reason
    said = text_of(found.problem.cause)
    assert f"metadata.annotations[{key}] must have at most" in said
    assert "999... (250000 characters" in said
    assert ("cpu", 1000) in found.pod_class.requests


def test_so_is_a_pod_group() -> None:
    present = {annotations.MIN_RUNTIME: LONG}

    spec = pod_groups.pod_group(pod_group_body("g", metadata={"annotations": present}))

    assert spec.problem is not None
    said = text_of(spec.problem.cause)
    assert f"metadata.annotations[{annotations.MIN_RUNTIME}] must have at most 1024" in said
    assert len(said) < 1000


def test_a_text_that_only_looks_like_one_that_was_cut_is_none() -> None:
    assert wire_texts.most_of("one of which 5 may be)") is None
    assert wire_texts.most_of(wire_texts.cut_text("\n" * 2000, 1024)) == 1024


def test_a_long_pod_comes_from_a_watch_as_a_short_one_does() -> None:
    cache, left_out = Cache([builders.SCHEDULER], Changes()), LeftOutObjects()
    handlers = cache_feeding.event_handlers(cache, left_out)
    known_objects = KnownObjects(handlers.of(PODS), handlers.versions)
    body = pod_body("p", metadata={"annotations": {annotations.GANG_NAME: LONG}})
    body["spec"]["nodeName"] = "n1"

    known_objects.begin(PODS)
    known_objects.listed(Raw(msgspec.json.encode(body)))

    (pod,) = cache.pods()
    assert [] == [*left_out.take_all()]
    assert ("n1", ("cpu", 1000)) == (pod.node, next(iter(pod.pod_class.requests)))
    assert len(pod.gang.name) < 200
