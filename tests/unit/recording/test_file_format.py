"""Recordings are read again, also where the recorder was killed; a damaged line has a number."""

import gzip
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import (
    CLOSED,
    GONE,
    UP,
    End,
    Gang,
    Header,
    Line,
    Name,
    NodeChange,
    UnreadableRecording,
)

BEGIN = 1_767_225_600
TEXT = "2026-01-01T00:00:00Z"
HEADER = Header(
    kind=file_format.KIND, api_version=file_format.API_VERSION, version="0.2.0", begun_at=TEXT
)


def node(
    name: str, *, ready: str = "True", closed: bool = False, taints: Iterable[str] = ()
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": closed, "taints": [{"key": each} for each in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def gang(number: int, name: str = "train", submit: int = BEGIN) -> Gang:
    return Gang(id=number, name=name, submit=submit)


def written(*lines: Header | Line) -> bytes:
    return b"".join(map(file_format.text_of, lines))


def seen(at: int, body: dict[str, Any]) -> Line:
    return Line(at=BEGIN + at, object=body)


def changes(*lines: Line) -> list[tuple[int, str, str]]:
    """Return the changes of nodes, in seconds since the begin; 0 is before all."""
    found = file_format.read(written(HEADER, *lines)).changes
    return [(max(0, each.at - BEGIN), each.name, each.state) for each in found]


def test_gangs_are_read_with_their_ends() -> None:
    content = written(
        HEADER,
        Line(at=BEGIN + 1, gang=gang(1)),
        Line(at=BEGIN + 2, gang=gang(2, "other")),
        Line(at=BEGIN + 9, ended=End(id=1, state="Finished", started=BEGIN + 3)),
    )
    one, other = file_format.read(content).gangs

    assert (gang(1), BEGIN + 9) == (one.gang, one.ended_at)
    assert one.end is not None
    assert BEGIN + 3 == one.end.started
    assert (gang(2, "other"), None) == (other.gang, other.end)


def test_a_gang_is_lost_that_a_later_recorder_has_not_found() -> None:
    content = written(
        HEADER,
        Line(at=BEGIN, gang=gang(1, "lost")),
        Line(at=BEGIN, gang=gang(2, "found")),
        Line(at=BEGIN, gang=gang(3, "ended")),
        Line(at=BEGIN + 1, ended=End(id=3, state="Finished", started=BEGIN)),
        HEADER,
        Line(at=BEGIN + 9, gang=gang(1, "found")),
    )

    assert {"lost": True, "found": False, "ended": False} == {
        each.gang.name: each.is_lost for each in file_format.read(content).gangs
    }


def test_a_node_that_comes_later_is_gone_until_then() -> None:
    found = changes(seen(0, node("a")), seen(50, node("b")))

    assert [(0, "b", GONE), (50, "b", UP)] == found


def test_a_node_that_goes_and_one_that_is_cordoned_change() -> None:
    found = changes(
        seen(0, node("a")),
        seen(0, node("b")),
        seen(10, node("a", closed=True)),
        Line(at=BEGIN + 20, gone=Name(kind="Node", name="b")),
        seen(30, node("a")),
        seen(40, node("a", ready="Unknown")),
    )

    assert [(10, "a", CLOSED), (20, "b", GONE), (30, "a", UP), (40, "a", GONE)] == found


def test_a_node_that_is_not_ready_at_first_is_so_from_the_begin() -> None:
    assert [(0, "a", GONE), (5, "a", UP)] == changes(
        seen(0, node("a", ready="False")), seen(5, node("a"))
    )


def test_the_objects_are_the_last_states_with_nodes_that_take_pods() -> None:
    queue = {"apiVersion": "v1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {"a": 1}}
    ours, theirs = "example.com/ours", "node.kubernetes.io/not-ready"
    found = file_format.read(
        written(
            HEADER,
            seen(0, queue),
            seen(1, {**queue, "spec": {"a": 2}}),
            seen(1, node("a", ready="False", closed=True, taints=(ours, theirs))),
        )
    )

    (read, made) = found.objects
    assert {"a": 2} == read["spec"]
    assert {"taints": [{"key": ours}]} == made["spec"]
    assert [{"type": "Ready", "status": "True"}] == made["status"]["conditions"]


@pytest.mark.parametrize("lost", range(1, 60))
def test_half_a_line_at_the_end_is_left_out(lost: int) -> None:
    before = written(HEADER, Line(at=BEGIN, gang=gang(1)))
    last = written(Line(at=BEGIN + 9, gang=gang(2, "a-name-that-is-quite-long")))

    found = file_format.read(before + last[:-lost])

    # Without the end of the line alone, the line is whole.
    assert (lost != 1, 1 + (lost == 1)) == (found.is_cut, len(found.gangs))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"at":1,"gang":{"id":1,"na\n', "line 3: "),
        (b"\xff\xfe\n", "line 3: "),
        (b'{"at":1}\n', "line 3: the line must say one thing"),
        (b'{"at":-1,"gang":{"id":1,"name":"a","submit":1}}\n', "line 3: .*at"),
        (b'{"at":1,"gang":{"id":1,"name":"a","submit":1,"pods":0}}\n', "line 3: .*pods"),
        (b'{"at":1,"gang":{"id":1,"name":"a","submit":1,"gpu":-1}}\n', "line 3: .*gpu"),
        (b'{"at":1,"ended":{"id":7,"state":"Failed"}}\n', "line 3: ended.id must be that of"),
        (b'{"at":1,"object":{"kind":"Secret","metadata":{"name":"a"}}}\n', "line 3: object must"),
        (b'{"at":1,"object":{"kind":"Node","metadata":{}}}\n', "line 3: object.metadata.name"),
    ],
)
def test_a_damaged_line_is_refused_by_its_number(line: bytes, problem: str) -> None:
    before, after = written(HEADER, Line(at=BEGIN, gang=gang(1))), written(Line(at=2, gang=gang(2)))

    with pytest.raises(UnreadableRecording, match=problem):
        file_format.read(before + line + after)
    with pytest.raises(UnreadableRecording, match=problem):
        file_format.read(before + line)


def test_a_header_of_another_form_is_refused() -> None:
    other = msgspec.structs.replace(HEADER, api_version="py-gang-scheduler.io/v9")

    with pytest.raises(UnreadableRecording, match="line 1: apiVersion must be"):
        file_format.read(written(other))


def test_an_object_with_the_words_of_a_header_is_none() -> None:
    marks = {"kind": file_format.KIND}
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "q", "namespace": "a", "labels": marks, "annotations": marks},
    }
    found = file_format.read(written(HEADER, Line(at=BEGIN, object=queue), seen(5, node("a"))))

    assert [queue, {"name": "a"}] == [found.objects[0], found.objects[1]["metadata"]]


def test_a_gang_may_ask_for_as_much_as_a_quantity_can_say() -> None:
    asked = msgspec.structs.replace(gang(1), gpu=2**63 - 1)

    found = file_format.read(written(HEADER, Line(at=BEGIN, gang=asked)))

    assert [asked] == [each.gang for each in found.gangs]


def test_two_recordings_in_a_row_are_one() -> None:
    later = msgspec.structs.replace(HEADER, begun_at="2026-01-01T01:00:00Z")
    ended = End(id=1, state="Finished", started=BEGIN + 1)
    found = file_format.read(
        written(
            HEADER,
            seen(0, node("a")),
            seen(0, node("b")),
            Line(at=BEGIN, gang=gang(1)),
            Line(at=BEGIN, gang=gang(2, "over")),
            Line(at=BEGIN + 5, ended=msgspec.structs.replace(ended, id=2)),
            later,
            seen(3600, node("b")),
            Line(at=BEGIN + 3600, gang=gang(1)),
            Line(at=BEGIN + 3700, ended=ended),
        )
    )

    assert [("over", BEGIN + 5), ("train", BEGIN + 3700)] == sorted(
        (each.gang.name, each.ended_at) for each in found.gangs
    )
    assert [NodeChange(BEGIN + 3600, "a", GONE)] == list(found.changes)


def test_a_gang_that_fails_and_comes_again_at_once_is_another() -> None:
    failed = End(id=1, state="Failed", started=BEGIN)
    found = file_format.read(
        written(
            HEADER,
            Line(at=BEGIN, gang=gang(1)),
            Line(at=BEGIN, ended=failed),
            Line(at=BEGIN, gang=gang(2)),
        )
    )

    assert ["Failed", None] == [each.end and each.end.state for each in found.gangs]


@pytest.mark.parametrize("lost", [1, 5, 8, 20])
def test_a_compressed_recording_without_its_end_is_unpacked_as_far_as_it_goes(lost: int) -> None:
    content = written(HEADER, Line(at=BEGIN, gang=gang(1)))
    packing = zlib.compressobj(wbits=31)
    begun = packing.compress(content) + packing.flush(zlib.Z_SYNC_FLUSH)
    more = packing.compress(written(Line(at=BEGIN, gang=gang(2))))
    whole = begun + more + packing.flush()

    found = file_format.unpacked_so_far(whole[:-lost])

    assert found.startswith(content)
    assert file_format.read(found).gangs


def test_several_compressed_recordings_in_a_row_are_unpacked() -> None:
    content = written(HEADER, Line(at=BEGIN, gang=gang(1)))

    assert 2 * content == file_format.unpacked_so_far(2 * gzip.compress(content))


def test_another_compressed_file_without_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match="is no whole gzip file"):
        file_format.unpacked_so_far(gzip.compress(b"name,submit\n" * 9)[:-8])


def test_a_broken_compressed_recording_is_refused() -> None:
    whole = bytearray(
        gzip.compress(written(HEADER, *(Line(at=n, gang=gang(n)) for n in range(99))))
    )
    whole[len(whole) // 2] ^= 0xFF

    with pytest.raises(ValueError, match="is no whole gzip file"):
        file_format.unpacked_so_far(bytes(whole))
