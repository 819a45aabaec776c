"""`audit -f`: recordings are judged, and the status says whether something was found."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from gang_auditor import watch_events
from gang_auditor.watch_events import Event
from gang_scheduler.cli import main
from support.audit_streams import START, Manifest, bound, node, pod
from support.audit_victims import marked, nominated


def judged(path: Path, *flags: str) -> Result:
    return CliRunner().invoke(main, ["audit", "-f", str(path), *flags])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a recording in which a node of 4 CPUs gets 6."""
    pods = [pod(name, cpu=3) for name in ("a", "b")]
    created: list[Manifest] = [node("n1", cpu=4), *pods]
    seen = [Event(START, watch_events.ADDED, each) for each in created]
    seen += [Event(START, watch_events.MODIFIED, bound(each, "n1")) for each in pods]
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(each.line for each in seen))
    return path


def test_a_finding_is_a_line_of_json_and_status_1(recording: Path) -> None:
    result = judged(recording)

    assert 1 == result.exit_code
    (line,) = result.stdout.splitlines()
    assert {
        "at": "2027-01-15T08:00:00.000000Z",
        "rule": "capacity",
        "about": "Pod lab/b",
        "message": "bound to n1, which has 6 of 4 cpu then",
        "details": {"node": "n1", "resource": "cpu", "used": 6000, "allocatable": 4000},
    } == msgspec.json.decode(line)


def test_without_findings_nothing_is_printed_and_the_status_is_0(recording: Path) -> None:
    assert (0, "") == (judged(recording, "--skip=capacity").exit_code, "")
    assert 0 == judged(recording, "--scheduler-name=other").exit_code


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--skip=gravity",), "--skip: no rule 'gravity'; rules are: capacity, ports,"),
        (("--skew-seconds=-1",), "--skew-seconds"),
    ],
)
def test_wrong_options_are_refused(recording: Path, flags: tuple[str, ...], words: str) -> None:
    result = judged(recording, *flags)

    assert 2 == result.exit_code
    assert words in result.output


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert (2, 2) == (judged(tmp_path / "none").exit_code, judged(tmp_path).exit_code)
    (tmp_path / "other").write_text("hello\n")
    assert "other:1: no JSON object" in judged(tmp_path / "other").stderr


@pytest.fixture
def preemption(tmp_path: Path) -> Path:
    """Return a recording in which two pods are evicted, where one is enough."""
    big = pod("big", cpu=4, priority=10)
    low = [bound(pod(f"low-{number}", cpu=4), f"n{number}") for number in range(2)]
    seen: list[Manifest] = [node("n0", cpu=4), node("n1", cpu=4), *low, big, nominated(big, "n0")]
    seen += [marked(each, "big", "big") for each in low]
    lines = [Event(START + at, watch_events.MODIFIED, each).line for at, each in enumerate(seen)]
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_victims_are_compared_with_a_simulation(preemption: Path) -> None:
    result = judged(preemption, "--simulate", "--skip=spared")

    (found,) = map(msgspec.json.decode, result.stdout.splitlines())
    assert ("simulated", "Gang lab/big") == (found["rule"], found["about"])
    assert "evicts 2 pods, where a simulation evicts 1" == found["message"]
    assert ["lab/low-0", "lab/low-1"] == found["details"]["victims"]


def test_a_cluster_is_not_compared_with_a_simulation() -> None:
    result = CliRunner().invoke(main, ["audit", "--simulate"])

    assert (2, True) == (result.exit_code, "--simulate is for recordings" in result.stderr)
