"""Snapshots as files: the header, and an object a line."""

import gzip
import json
from pathlib import Path

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model.api_words import NodeStrategy
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, snapshot_files
from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.simulation.snapshot_files import Header, Stored

HEADER = {
    "kind": "SnapshotHeader",
    "apiVersion": "py-gang-scheduler.io/v1alpha1",
    "version": "1",
    "takenAt": "2024-05-01T12:00:00Z",
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "uid": "u"},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "a", "uid": "v"},
    "spec": {"containers": [{"name": "c"}]},
}
POD_WITHOUT_SPEC = {key: value for key, value in POD.items() if key != "spec"}


def written(path: Path, *bodies: object, packed: bool = False) -> str:
    """Write a line for each body; text as it is."""
    lines = (each if isinstance(each, str) else json.dumps(each) for each in bodies)
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return str(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz", "s.txt"])
def test_a_snapshot_is_known_by_its_first_line(tmp_path: Path, name: str, packed: bool) -> None:  # noqa: FBT001 - a parameter of the test.
    file = written(tmp_path / name, HEADER, NODE, packed=packed)

    (found,) = documents.read([file])

    assert isinstance(found, Stored)
    assert (f"{file}: line 2", 1714564800) == (found.place, found.header.at)


def test_lines_without_a_header_are_manifests(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl.gz", NODE, "", POD, packed=True)

    found = [each for each in documents.read([file]) if isinstance(each, Document)]

    assert [f"{file}: line 1", f"{file}: line 3"] == [each.place for each in found]
    assert [NODE, POD] == [each.body for each in found]


def test_a_null_in_a_line_counts_as_absent(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl", POD | {"spec": None, "status": {"phase": None}})

    (found,) = documents.read([file])

    assert isinstance(found, Document)
    assert {**POD_WITHOUT_SPEC, "status": {}} == found.body


def test_a_fault_is_reported_with_file_and_line(tmp_path: Path) -> None:
    broken = written(tmp_path / "s.jsonl", NODE, "{nothing")
    old = written(tmp_path / "t.jsonl", HEADER | {"apiVersion": "v0"})
    timeless = written(tmp_path / "u.jsonl", HEADER | {"takenAt": "noon"})

    told = [
        each.text for each in documents.read([broken, old, timeless]) if isinstance(each, Problem)
    ]

    assert told[0].startswith(f"{broken}: line 2: JSON is malformed")
    assert told[1] == f'{old}: line 1: apiVersion must be py-gang-scheduler.io/v1alpha1, not "v0"'
    assert told[2] == f'{timeless}: line 1: takenAt must be a time, not "noon"'


def test_half_a_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(HEADER).encode())[:-9])

    (found,) = documents.read([str(file)])

    assert isinstance(found, Problem)
    assert found.text.startswith(f"{file}: is no whole gzip file")


def test_a_file_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_files, "MOST_BYTES", 100)
    file = written(tmp_path / "s.jsonl.gz", HEADER, *[NODE] * 9, packed=True)

    assert [Problem(f"{file}: has more than 100 bytes")] == list(documents.read([file]))


def test_the_time_of_a_snapshot_counts_unless_another_is_given(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl", HEADER, NODE, POD)

    assert 1714564800 == objects.load(documents.read([file]), "ours").read_at
    assert 7 == objects.load(documents.read([file]), "ours", at=7).read_at


def test_what_a_snapshot_lacks_is_reported(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl", HEADER | {"notReadable": ["nodes"]}, POD)

    assert ("not in the snapshot, since they may not be listed: nodes",) == objects.load(
        documents.read([file]), "ours"
    ).notes


def test_an_object_of_a_snapshot_is_not_in_a_manifest_beside_it(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl", HEADER, NODE, POD)
    beside = written(tmp_path / "m.jsonl", POD | {"metadata": {"name": "p", "namespace": "a"}})

    with pytest.raises(UnreadableInput) as raised:
        objects.load(documents.read([file, beside]), "ours")

    assert raised.value.lines == (
        f'{beside}: line 1: metadata.name must differ from that of {file}: line 3 (it is "p")',
    )


def header(**profile: object) -> Header:
    """Return a header with these settings."""
    return Header(
        kind="SnapshotHeader",
        api_version=snapshot_files.API_VERSION,
        version="1",
        taken_at="2024-05-01T12:00:00Z",
        profile=profile,
        profile_of="ns/op",
    )


def test_settings_are_those_of_the_snapshot_but_for_the_given_ones() -> None:
    given = Policy(max_victims=3)

    policy, notes = snapshot_files.policy_of(
        header(strategy="spread", max_victims=9, gpu_resources=["a.b/c"], new=1), given
    )

    assert (NodeStrategy.SPREAD, 3, ("a.b/c",)) == (
        policy.rules.gangs.strategy,
        policy.rules.preemption.max_victims,
        policy.rules.queues.gpu_resources,
    )
    assert notes == (
        "settings of ns/op as in the snapshot, taken at 2024-05-01T12:00:00Z, but for max_victims",
        "settings that are not known here: new",
    )


def test_no_snapshot_leaves_the_settings_alone() -> None:
    assert (Policy(), ()) == snapshot_files.policy_of(None, Policy())
    assert (Policy(), ()) == snapshot_files.policy_of(header(), Policy())


def test_wrong_settings_are_reported() -> None:
    with pytest.raises(InvalidField, match=r"profile\.strategy is wrong"):
        snapshot_files.policy_of(header(strategy="none"), Policy())
