"""`snapshot`: what it prints, writes and exits with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from gang_scheduler.inspection.snapshots import taking
from support.api_objects import node_body, pod_body


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    """Return the name of a file with a node and a pod."""
    path = tmp_path / "m.jsonl"
    path.write_text(f"{json.dumps(node_body('n1'))}\n{json.dumps(pod_body('p'))}\n")
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["snapshot", *arguments])


def test_it_is_written_and_can_be_simulated(manifests: str, tmp_path: Path) -> None:
    file = str(tmp_path / "s.jsonl.gz")

    result = run("-f", manifests, "-o", file)
    first, again = (
        CliRunner().invoke(main, ["simulate", "-o", "json", "-f", each])
        for each in (manifests, file)
    )

    assert (0, "") == (result.exit_code, result.stdout)
    assert f"{file}: 2 objects\n" in result.stderr
    assert first.stdout == again.stdout
    assert '"n1"' in first.stdout
    assert again.stderr.startswith("settings as in the snapshot, taken at ")


def test_it_can_be_piped(manifests: str) -> None:
    result = run("-f", manifests, "-o", "-")

    assert ["SnapshotHeader", "Node", "Pod"] == [
        json.loads(line)["kind"] for line in result.stdout.splitlines()
    ]


def test_without_a_name_it_has_that_of_its_time(
    manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    run("-f", manifests)

    (file,) = tmp_path.glob("snapshot-*Z.jsonl.gz")
    assert file.stat().st_size > 100


def test_what_is_decided_otherwise_is_not_written(
    manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def differ(*_: object) -> Iterator[str]:
        yield "f: differs"

    monkeypatch.setattr(taking, "differences", differ)
    file = tmp_path / "s.jsonl"

    result = run("-f", manifests, "-o", str(file))

    assert (1, False) == (result.exit_code, file.exists())
    assert "f: differs\n" in result.stderr
    assert 0 == run("-f", manifests, "-o", str(file), "--no-verify").exit_code


def test_the_time_may_be_given(manifests: str) -> None:
    result = run("-f", manifests, "-o", "-", "--at", "2024-05-01T12:00:00Z")
    wrong = run("-f", manifests, "-o", "-", "--at", "noon")

    assert "2024-05-01T12:00:00Z" == json.loads(result.stdout.splitlines()[0])["takenAt"]
    assert (2, "--at:") == (wrong.exit_code, wrong.stderr.split(" ")[0])


def test_bad_input_and_places_that_cannot_be_written_are_refused(
    manifests: str, tmp_path: Path
) -> None:
    missing = run("-f", str(tmp_path / "none"), "-o", "-")
    nowhere = run("-f", manifests, "-o", str(tmp_path / "no" / "where.jsonl"))

    assert (2, 2) == (missing.exit_code, nowhere.exit_code)
    assert "cannot be read: No such file" in missing.stderr
    assert "cannot be written: No such file" in nowhere.stderr


def test_names_are_kept_beside_a_file_without_them(manifests: str, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"

    result = run("-f", manifests, "-o", str(file), "--anonymize")

    beside = tmp_path / "s.jsonl.names.json"
    words = json.loads(beside.read_text())["words"]
    assert (0, 0o600) == (result.exit_code, beside.stat().st_mode & 0o777)
    assert "main" in words
    assert '"main"' not in file.read_text()
    assert '"anonymized":true' in file.read_text()


def test_names_need_a_file_to_be_beside(manifests: str) -> None:
    result = run("-f", manifests, "-o", "-", "--anonymize")

    assert (2, "") == (result.exit_code, result.stdout)


def test_a_namespace_has_its_own_names_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    foreign = pod_body("f", nodeName="n1", metadata={"namespace": "optics"})
    path.write_text(
        "".join(f"{json.dumps(each)}\n" for each in (node_body("n1"), foreign, pod_body("p")))
    )

    result = run("-f", str(path), "-o", "-", "-n", "default")
    missing = run("-f", str(path), "-o", "-", "-n", "nowhere")

    assert (0, False) == (result.exit_code, "optics" in result.stdout)
    assert '"namespace":"default"' in result.stdout
    assert (
        3,
        'Error from server (NotFound): namespaces "nowhere" not found; there are default, optics\n',
    ) == (
        missing.exit_code,
        missing.stderr.split("\n", 1)[1] if "\n" in missing.stderr[:-1] else missing.stderr,
    )
