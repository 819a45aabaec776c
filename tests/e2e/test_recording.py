"""The operator records to a directory, and what it wrote can be replayed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import until
from gang_scheduler.recording import file_format, files
from gang_scheduler.recording.file_format import Recorded
from tools import controlplane

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def plane(crds: object) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without any other operator."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


def read(directory: Path) -> Recorded:
    return file_format.read(files.content_of(directory))


def ends(directory: Path) -> dict[str, bool]:
    return {each.gang.name: each.end is not None for each in read(directory).gangs}


@pytest.mark.parametrize("source", ["kopf", "reflector"])
def test_what_two_leaders_recorded_is_replayed(
    plane: controlplane.ControlPlane, namespace: Namespace, source: str, tmp_path: Path
) -> None:
    namespace.own_nodes(2, cpu=4)
    flags = (f"--source={source}", f"--record-to={tmp_path}")
    with controlplane.Scheduler(plane, *flags, name=f"first-{source}"):
        namespace.create(*gang("early", 2, on=namespace.here), *gang("long", 2, on=namespace.here))
        until(lambda: len(namespace.bound()) == 4)
        until(lambda: bool(files.in_directory(tmp_path)))
        until(lambda: {"early": False, "long": False} == ends(tmp_path))
        for number in range(2):
            namespace.set_phase(f"early-{number}", "Succeeded")
        until(lambda: {"early": True, "long": False} == ends(tmp_path))
    with controlplane.Scheduler(plane, *flags, name=f"second-{source}") as second:
        namespace.create(*gang("late", 2, on=namespace.here))
        until(lambda: ends(tmp_path).get("late") is False)
        for name in ("long", "late"):
            for number in range(2):
                namespace.set_phase(f"{name}-{number}", "Succeeded")
        until(lambda: {"early": True, "long": True, "late": True} == ends(tmp_path))
        assert 0 == second.metric("pgs_recording_failing")
        assert second.metric("pgs_recorded_bytes_total") > 0

    assert 2 == len(files.in_directory(tmp_path))
    command = [sys.executable, "-m", "gang_scheduler", "replay", str(tmp_path), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    (policy,) = json.loads(done.stdout)["policies"]
    assert (3, 3) == (policy["jobs"]["submitted"], policy["jobs"]["finished"])
    assert {each.gang.namespace for each in read(tmp_path).gangs} == {namespace.name}


def test_where_nothing_can_be_written_gangs_are_scheduled_all_the_same(
    plane: controlplane.ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    namespace.own_nodes(2, cpu=4)
    gone = tmp_path / "gone"
    with controlplane.Scheduler(plane, f"--record-to={gone}", name="without-a-disk") as operator:
        until(lambda: 1 == operator.metric("pgs_recording_failing"))
        namespace.create(*gang("train", 2, on=namespace.here))
        until(lambda: len(namespace.bound()) == 2)
        gone.mkdir()
        until(lambda: 0 == operator.metric("pgs_recording_failing"))
        until(lambda: ["train"] == [each.gang.name for each in read(gone).gangs])
