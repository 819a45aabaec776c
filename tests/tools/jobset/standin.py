"""A stand-in for the JobSet controller: it creates the Jobs of JobSets, and nothing else.

The Jobs have the names, labels and owners that the real controller gives them, and the defaults
that its webhook gives. The Job controller of kube-controller-manager makes their pods, and the
garbage collector deletes them with the JobSet.
"""

import contextlib
import copy
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools import controlplane
from tools.controlplane import access, repeated_calls

CRD = Path(__file__).with_name("crd.yaml")
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
PREFIX = "jobset.sigs.k8s.io"
TOO_MANY_REQUESTS = 429


def install(cluster: controlplane.Cluster) -> None:
    """Install the CRD, and wait until it is served."""
    cluster.kubectl("apply", f"--filename={CRD}")
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRD}")


@contextlib.contextmanager
def playing(cluster: controlplane.Cluster) -> Iterator[None]:
    """Look at all JobSets until the block ends. The CRD must be there."""
    made: set[tuple[str, str]] = set()
    with repeated_calls.repeating(cluster, functools.partial(create_all, made=made)):
        yield


def create_all(client: access.Client, made: set[tuple[str, str]]) -> None:
    """Create the Jobs of all JobSets that are not among those that were `made`, and note them."""
    for job_set in _job_sets(client):
        _create_jobs(client, job_set, made)


def _create_jobs(
    client: access.Client, job_set: dict[str, Any], made: set[tuple[str, str]]
) -> None:
    metadata = job_set["metadata"]
    if "deletionTimestamp" in metadata or job_set["spec"].get("suspend"):
        # The real controller creates the Jobs of a suspended one, too, but these have no pods.
        return
    for job in jobs(job_set):
        this = (metadata["uid"], job["metadata"]["name"])
        if this not in made:
            reply = client.request("POST", JOBS.format(metadata["namespace"]), job)
            # The namespace may be on its way out.
            if reply.status not in (403, 409):
                reply.check()
            made.add(this)


def _job_sets(client: access.Client) -> list[dict[str, Any]]:
    reply = client.request("GET", JOB_SETS)
    # For a moment after it is established, a CRD is still being initialized.
    if reply.status == TOO_MANY_REQUESTS:
        return []
    found: list[dict[str, Any]] = reply.check().body["items"]
    return found


def jobs(job_set: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the Jobs of a JobSet."""
    name, uid = job_set["metadata"]["name"], job_set["metadata"]["uid"]
    owner = {
        "apiVersion": job_set["apiVersion"],
        "kind": "JobSet",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for replicated in job_set["spec"]["replicatedJobs"]:
        for index in range(replicated["replicas"]):
            labels = {
                f"{PREFIX}/jobset-name": name,
                f"{PREFIX}/jobset-uid": uid,
                f"{PREFIX}/replicatedjob-name": replicated["name"],
                f"{PREFIX}/replicatedjob-replicas": str(replicated["replicas"]),
                f"{PREFIX}/job-index": str(index),
            }
            job = copy.deepcopy(replicated["template"])
            job["spec"].setdefault("completionMode", "Indexed")
            job["spec"]["template"]["spec"].setdefault("restartPolicy", "OnFailure")
            for part in (job, job["spec"]["template"]):
                metadata = part.setdefault("metadata", {})
                for key in ("labels", "annotations"):
                    metadata[key] = {**metadata.get(key, {}), **labels}
            job["metadata"].update(
                name=f"{name}-{replicated['name']}-{index}", ownerReferences=[owner]
            )
            yield {"apiVersion": "batch/v1", "kind": "Job", **job}
