"""A control plane that outlives the command that starts it: up, status, down.

`up` starts a holder, a process of its own session that runs the control plane like any other
owner. There is at most one for each state file, which lies in `.cache/` of the checkout or in
$CONTROLPLANE_STATE_DIR.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.controlplane import builds, credentials, directories, errors, plane
from tools.controlplane.options import Options

CHECKOUT = Path(__file__).resolve().parents[3]
STATE = Path(os.environ.get("CONTROLPLANE_STATE_DIR") or CHECKOUT / ".cache") / "controlplane.json"
HOLDER_LOG = STATE.with_suffix(".log")
STOP_SECONDS = 30.0
Furnished = Callable[[plane.ControlPlane], contextlib.AbstractContextManager[object]]


@dataclass(frozen=True)
class Running:
    """What the state file says of a running control plane."""

    holder_pid: int
    holder_started: str  # by which a pid that now belongs to another process is told apart
    directory: str
    kubeconfig: str
    url: str
    arguments: list[str]  # of the command that holds it


def status() -> Running | None:
    """Return the running control plane of this checkout, if there is one."""
    if not STATE.exists():
        return None
    running = Running(**json.loads(STATE.read_text()))
    return running if _is_alive(running) else None


def up(
    arguments: list[str],
    say: builds.Say = builds.say_on_stderr,
    *,
    program: str = "tools.controlplane",
) -> Running:
    """Start one in the background, unless it runs already, and return it when it is ready.

    One that runs already may have been started with other arguments. The holder is
    `python -m PROGRAM hold ARGUMENTS`, which has to call `hold`.
    """
    if running := status():
        say(f"already running at {running.url}")
        return running
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.unlink(missing_ok=True)
    with HOLDER_LOG.open("w") as log:
        holder = subprocess.Popen(
            [sys.executable, "-m", program, "hold", *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return _wait_for_holder(holder, say)
    except BaseException:
        holder.terminate()
        holder.wait()
        raise


def hold(arguments: list[str], options: Options, furnished: Furnished) -> None:
    """Own a control plane until SIGTERM: the body of the process that `up` starts.

    It counts as ready when `furnished` was entered, which is left before the control plane ends.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with plane.start(options) as running_plane, furnished(running_plane):
        _write_state(running_plane, arguments)
        while True:
            running_plane.processes.check()
            time.sleep(1)


def down() -> bool:
    """End the control plane of this checkout and remove its files; False when none runs."""
    running = status()
    if running:
        os.kill(running.holder_pid, signal.SIGTERM)
        if not _wait_for(lambda: not _is_alive(running)):
            # Its supervisor notices, kills the components and removes the directory.
            os.kill(running.holder_pid, signal.SIGKILL)
            _wait_for(lambda: not Path(running.directory).exists())
    STATE.unlink(missing_ok=True)
    directories.sweep()
    return running is not None


def _write_state(running_plane: plane.ControlPlane, arguments: list[str]) -> None:
    state = Running(
        os.getpid(),
        _started_at(os.getpid()),
        str(running_plane.directory),
        str(running_plane.kubeconfig),
        running_plane.url,
        arguments,
    )
    # Renamed into place: `up` waits for the file and must not read half of it.
    unfinished = STATE.with_suffix(".new")
    credentials.write_private(unfinished, json.dumps(asdict(state), indent=2))
    unfinished.rename(STATE)


def _wait_for(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_true()


def _is_alive(running: Running) -> bool:
    return _started_at(running.holder_pid) == running.holder_started


def _wait_for_holder(holder: subprocess.Popen[bytes], say: builds.Say) -> Running:
    with HOLDER_LOG.open() as log:
        while True:
            ended = holder.poll() is not None
            # The holder's progress is ours: a first build takes minutes.
            for line in log:
                say(line.rstrip())
            if running := status():
                return running
            if ended:
                raise errors.ControlPlaneError("the control plane did not start; see above")
            time.sleep(0.1)


def _started_at(pid: int) -> str:
    """Return when a process started, in ticks since boot; empty when it is gone or a zombie."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    return ""
