"""An auditor beside a control plane, as a process of its own."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from e2e.support import waiting
from gang_auditor import watch_events
from tools import controlplane

WATCHING = "watching"
END_SECONDS = 60


@dataclass
class Audit:
    """An auditor that runs. `record` is what it has watched, for `audit -f`."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    record: Path
    status: int | None = None

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What it has found until now."""
        lines = self.out.read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines]

    @property
    def rules(self) -> set[str]:
        """The rules that were broken until now."""
        return {each["rule"] for each in self.findings}

    def catch_up(self, plane: controlplane.Cluster) -> None:
        """Wait until it has seen all that has happened to pods until now."""
        path = "/api/v1/namespaces/default/pods"
        container = {"name": "main", "image": "none"}
        marker = {
            "metadata": {"generateName": "marker-"},
            "spec": {"schedulerName": "nothing", "containers": [container]},
        }
        name = plane.request("POST", path, marker)["metadata"]["name"]
        waiting.until(lambda: name in self.record.read_text())
        plane.request("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})

    def let_pass(self, seconds: float) -> None:
        """Wait until so much time has passed for it."""
        begin = self._now()
        waiting.until(lambda: self._now() >= begin + seconds)

    def _now(self) -> float:
        """Return when it has received its last event, in seconds since the epoch."""
        lines = self.record.read_bytes().splitlines(keepends=True)
        return watch_events.of_line([each for each in lines if each.endswith(b"\n")][-1]).at

    def end(self) -> list[dict[str, Any]]:
        """End it as the kubelet does; return what it has found."""
        if self.status is None:
            self.process.send_signal(signal.SIGTERM)
            self.status = self.process.wait(END_SECONDS)
        return self.findings


@contextlib.contextmanager
def auditing(plane: controlplane.Cluster, directory: Path, *flags: str) -> Iterator[Audit]:
    """Give an auditor that has begun to watch; it ends with the context."""
    out, err = directory / "findings.jsonl", directory / "audit.log"
    record = directory / "events.jsonl"
    command = [
        *(sys.executable, "-m", "gang_scheduler", "audit"),
        f"--kubeconfig={plane.kubeconfig}",
        f"--record={record}",
        *flags,
    ]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr)
    audit = Audit(process, out, err, record)
    try:
        waiting.until(lambda: WATCHING in err.read_text() or process.poll() is not None)
        assert process.poll() is None, err.read_text()
        yield audit
    finally:
        audit.end()


@contextlib.contextmanager
def finding_nothing(plane: controlplane.Cluster, directory: Path, *flags: str) -> Iterator[None]:
    """Let an auditor watch; afterwards it must have found nothing, and logged no traceback."""
    with auditing(plane, directory, *flags) as audit:
        yield
        audit.catch_up(plane)
        audit.end()
    assert ([], 0) == (audit.findings, audit.status)
    assert "Traceback" not in audit.err.read_text()
