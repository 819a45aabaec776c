"""The life of a fake pod and a fake node, as KWOK wants it: a file of Stage documents.

The documents come with KWOK's Go module. They are copied into the cache next to the binary, so
that a later start needs no Go. One is our own: KWOK only removes the pods that are to end.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import yaml

from tools.controlplane import builds

STAGES = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-delete")
COMPLETE = "pod/fast/pod-complete"
# A pod that is deleted before it has started ends as well, as far as its kubelet says.
NOT_ENDED = {"key": ".status.phase", "values": ["Pending", "Running"]}
DELETED = {"key": ".metadata.deletionTimestamp", "operator": "Exists"}
# A pod that is deleted by force is gone at once, unless it has finalizers, and KWOK would change
# another one of its name.
STAYS = "(.metadata.deletionGracePeriodSeconds > 0) or (.metadata.finalizers | length > 0)"
NOT_ENDED_AND_STAYS = {**NOT_ENDED, "key": f"select({STAYS}) | .status.phase"}

Stage = dict[str, Any]


def write(target: Path, pod_complete_seconds: float | None) -> None:
    """Write one configuration file with all stages; pods of Jobs end only when told after what."""
    directory = _cached_documents()
    documents = [_load(directory, stage) for stage in STAGES]
    documents[-1]["spec"]["selector"]["matchExpressions"].append({**NOT_ENDED, "operator": "NotIn"})
    documents.append(_end(documents[-1]))
    if pod_complete_seconds is not None:
        complete = _load(directory, COMPLETE)
        complete["spec"]["delay"] = {"durationMilliseconds": round(pod_complete_seconds * 1000)}
        documents.append(complete)
    target.write_text(yaml.safe_dump_all(documents))


def _end(delete: Stage) -> Stage:
    """Return what a kubelet does before it removes a pod. Some Jobs wait for it."""
    return {
        **{key: delete[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": "pod-end"},
        "spec": {
            "resourceRef": delete["spec"]["resourceRef"],
            "selector": {"matchExpressions": [DELETED, {**NOT_ENDED_AND_STAYS, "operator": "In"}]},
            "next": {"statusTemplate": "phase: Failed"},
        },
    }


def _load(directory: Path, stage: str) -> Stage:
    document: Stage = yaml.safe_load((directory / f"{Path(stage).name}.yaml").read_text())
    return document


def _cached_documents() -> Path:
    directory = builds.cached_path("kwok").with_name(f"kwok-stages-{builds.pinned_version('kwok')}")
    if not directory.exists():
        _copy_from_module(directory)
    return directory


def _copy_from_module(directory: Path) -> None:
    source = builds.files_of_module("kwok") / "kustomize" / "stage"
    unfinished = directory.with_name(f".{directory.name}.{os.getpid()}")
    unfinished.mkdir(parents=True, exist_ok=True)
    for stage in (*STAGES, COMPLETE):
        # copyfile, not copy: files of the module cache are read-only, ours can be removed.
        shutil.copyfile(source / f"{stage}.yaml", unfinished / f"{Path(stage).name}.yaml")
    try:
        unfinished.rename(directory)
    except OSError:
        # Another process was faster, with the same content.
        shutil.rmtree(unfinished)
