"""A stand-in for the JobSet controller: it creates the Jobs of JobSets, and nothing else.

The Jobs have the names, labels and owners that the real controller gives them, and the defaults
that its webhook gives. The Job controller of kube-controller-manager makes their pods, and the
garbage collector deletes them with the JobSet.
"""

import copy
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import controlplane
from controlplane import access, errors

CRD = Path(__file__).with_name("crd.yaml")
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
PREFIX = "jobset.sigs.k8s.io"
POLL_SECONDS = 0.1
TOO_MANY_REQUESTS = 429


def install(cluster: controlplane.Cluster) -> None:
    """Install the CRD, and wait until it is served."""
    cluster.kubectl("apply", f"--filename={CRD}")
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRD}")


class StandIn:
    """Looks at all JobSets, from `with` to its end. The CRD must be there."""

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self._access = cluster.access
        self._made: set[tuple[str, str]] = set()
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="jobset", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        if self._failure:
            raise errors.ControlPlaneError("the stand-in for JobSet broke down") from self._failure

    def _run(self) -> None:
        try:
            with access.Client(self._access) as client:
                while not self._stopping.wait(POLL_SECONDS):
                    for job_set in _job_sets(client):
                        self._create_jobs(client, job_set)
        except Exception as error:  # Raised where the block ends.
            self._failure = error

    def _create_jobs(self, client: access.Client, job_set: dict[str, Any]) -> None:
        metadata = job_set["metadata"]
        if "deletionTimestamp" in metadata:
            return
        for job in jobs(job_set):
            made = (metadata["uid"], job["metadata"]["name"])
            if made not in self._made:
                reply = client.request("POST", JOBS.format(metadata["namespace"]), job)
                # The namespace may be on its way out.
                if reply.status not in (403, 409):
                    reply.check()
                self._made.add(made)


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
