"""What is written of gangs, on the API server and in the model at once."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from e2e.model import manifests
from e2e.model.manifests import Manifest
from e2e.model.rules import Gang, Pod, Said
from tools.controlplane import access

NOWHERE = {"e2e": "nowhere"}
NOW = {"gracePeriodSeconds": 0}
PLURALS = {
    "pods": "api/v1",
    "jobs": "apis/batch/v1",
    "podgroups": "apis/scheduling.sigs.k8s.io/v1alpha1",
}


class Writes:
    """All writes of a sequence, whose members fit a node with the labels `node`.

    `minimums` are the least that was ever asked for, by namespace and name of the gang.
    """

    def __init__(self, client: access.Client, node: Mapping[str, str]) -> None:
        self.minimums: dict[str, int] = {}
        self._client = client
        self._node = dict(node)
        self._numbers = iter(range(10**6))

    def number(self) -> int:
        """Return a number that no name has yet."""
        return next(self._numbers)

    def describe(self, gang: Gang, said: Said) -> None:
        """Create the object of a gang, if its source has one."""
        if gang.speaks is not None:
            return
        is_job = gang.source == "Job"
        body = (manifests.job if is_job else manifests.pod_group)(gang.name.name, said)
        made = self.create(gang.name.namespace, "jobs" if is_job else "podgroups", body)
        gang.object = replace(said, created=_created(made))
        if not is_job:
            self._notice(gang)

    def _notice(self, gang: Gang) -> None:
        """Note the least that was ever asked for: by that the witness judges."""
        if gang.object is not None:
            key = f"{gang.name.namespace}/{gang.name.name}"
            least = self.minimums.get(key, gang.object.minimum)
            self.minimums[key] = min(least, gang.object.minimum)

    def add(self, gang: Gang, name: str = "", *, possible: bool = True, priority: int = 0) -> str:
        """Create a member and return its name. One that is not `possible` fits no node."""
        name = name or f"{gang.name.name}-{self.number()}"
        body = manifests.pod(name, self._node if possible else NOWHERE, priority)
        uid = gang.object.created[1] if gang.object else ""
        manifests.join(body, gang.source, gang.name.name, gang.speaks, uid)
        made = self.create(gang.name.namespace, "pods", body)
        created = _created(made)
        gang.pods.append(
            Pod(gang.name.namespace, name, created[1], created, gang.name, possible, priority)
        )
        return name

    def delete_pod(self, gang: Gang, pod: Pod) -> None:
        """Delete a member."""
        gang.pods.remove(pod)
        self.delete(pod.namespace, "pods", pod.name)

    def write(self, pod: Pod, change: Callable[[Manifest], None], part: str = "") -> None:
        """Change a pod."""
        self._replace(path_of(pod.namespace, "pods", pod.name), change, part)

    def write_pod_group(self, gang: Gang) -> None:
        """Write what a PodGroup says in the model now."""
        said = gang.object
        assert said is not None
        wanted = manifests.pod_group(gang.name.name, said)

        def change(body: Manifest) -> None:
            body["spec"]["minMember"] = said.minimum
            body["metadata"]["annotations"] = wanted["metadata"]["annotations"]

        self._replace(path_of(gang.name.namespace, "podgroups", gang.name.name), change)
        self._notice(gang)

    def write_job_status(self, gang: Gang) -> None:
        """Write how far a Job is in the model now."""
        said = gang.object
        assert said is not None
        self._replace(
            path_of(gang.name.namespace, "jobs", gang.name.name),
            lambda body: body["status"].update(succeeded=said.succeeded),
            "/status",
        )

    def create(self, namespace: str, plural: str, body: Manifest) -> Manifest:
        """Create an object."""
        return self._client.request("POST", path_of(namespace, plural), body).check().body

    def delete(self, namespace: str, plural: str, name: str) -> None:
        """Delete an object."""
        # In the background: by default Jobs would leave their pods behind.
        options = {**NOW, "propagationPolicy": "Background"}
        self._client.request("DELETE", path_of(namespace, plural, name), options).check()

    def _replace(self, path: str, change: Callable[[Manifest], None], part: str = "") -> None:
        while True:
            body = self._client.request("GET", path).check().body
            change(body)
            reply = self._client.request("PUT", path + part, body)
            if reply.status != 409:
                reply.check()
                return


def path_of(namespace: str, plural: str, name: str = "") -> str:
    """Return the path of a kind, or of an object."""
    return f"/{PLURALS[plural]}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")


def _created(body: Manifest) -> tuple[str, str]:
    return body["metadata"]["creationTimestamp"], body["metadata"]["uid"]
