"""What a kubelet writes in the status of a pod, as strategic merge patches."""

import datetime as dt
from typing import Any

from tools.kubelet.variables import Pod, container_of

MESSAGE_BYTES = 4096
READY = ("Initialized", "Ready", "ContainersReady")


def started(pod: Pod) -> dict[str, Any]:
    """Say that the container runs."""
    now = _now()
    running = _container(pod, {"running": {"startedAt": now}}, ready=True)
    conditions = [_condition(kind, "True", now) for kind in READY]
    return {
        "status": {
            "phase": "Running",
            "startTime": now,
            "conditions": conditions,
            "containerStatuses": [running],
        }
    }


def ended(pod: Pod, exit_code: int, message: bytes) -> dict[str, Any]:
    """Say how the container has ended, and what it has left."""
    now = _now()
    terminated = {
        "exitCode": exit_code,
        "reason": "Error" if exit_code else "Completed",
        "startedAt": pod["status"].get("startTime", now),
        "finishedAt": now,
        "message": message[:MESSAGE_BYTES].decode(errors="replace"),
    }
    conditions = [_condition(kind, "False", now) for kind in READY[1:]]
    return {
        "status": {
            "phase": "Failed" if exit_code else "Succeeded",
            "conditions": conditions,
            "containerStatuses": [_container(pod, {"terminated": terminated}, ready=False)],
        }
    }


def _container(pod: Pod, state: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    container = container_of(pod)
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(kind: str, status: str, now: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": now}


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
