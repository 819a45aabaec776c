"""Keep the components of one control plane, and end them with their owner.

A process of its own, started by `processes.py` by its path, with the standard library alone. It
reads one JSON request a line from stdin and answers each with one line. When the owner is gone,
even by kill -9, stdin ends: every component is killed and the directory removed. When this
process is killed itself, Linux kills the components (PR_SET_PDEATHSIG). That signal follows the
*thread* that started a child, which is why it is done here, in a process with a single thread.

    {"do": "start", "name": "etcd", "argv": [...], "log": "/path"}   -> {"pid": 17}
    {"do": "stop", "name": "etcd", "grace_seconds": 0}               -> {"exit_code": -9}
    {"do": "poll", "name": "etcd"}                                   -> {"exit_code": null}
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
OWNER_CHECK_SECONDS = 1.0
Children = dict[str, subprocess.Popen[bytes]]
Request = dict[str, Any]


def main() -> None:
    """Serve requests until the owner is gone, then leave nothing behind."""
    directory = Path(sys.argv[1])
    children: Children = {}
    try:
        for line in _lines_until_owner_is_gone():
            request = json.loads(line)
            answer = ACTIONS[request["do"]](children, request)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    finally:
        # In reverse: no child fills the log with complaints about a server that is gone.
        for child in reversed(list(children.values())):
            child.kill()
            child.wait()
        shutil.rmtree(directory, ignore_errors=True)


def _lines_until_owner_is_gone() -> Iterator[bytes]:
    owner = os.getppid()
    pending = b""
    # A forked child of the owner may keep the pipe open, so the parent's pid is checked too.
    while os.getppid() == owner:
        if not select.select([0], [], [], OWNER_CHECK_SECONDS)[0]:
            continue
        received = os.read(0, 65536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        yield from lines


def _start(children: Children, request: Request) -> Request:
    with Path(request["log"]).open("ab") as log:
        child = subprocess.Popen(
            request["argv"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=sys.argv[1],
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - safe: this process has one thread.
        )
    children[request["name"]] = child
    return {"pid": child.pid}


def _stop(children: Children, request: Request) -> Request:
    child = children[request["name"]]
    if request["grace_seconds"] > 0:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(request["grace_seconds"])
    child.kill()
    return {"exit_code": child.wait()}


def _poll(children: Children, request: Request) -> Request:
    return {"exit_code": children[request["name"]].poll()}


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The parent may have died before the line above.
        if os.getppid() != parent:
            os._exit(1)

    return arrange


ACTIONS: dict[str, Callable[[Children, Request], Request]] = {
    "start": _start,
    "stop": _stop,
    "poll": _poll,
}

if __name__ == "__main__":
    main()
