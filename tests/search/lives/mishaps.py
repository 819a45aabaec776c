"""What happens in a cluster while the operator is at work, and to its own calls."""

from collections.abc import Callable
from random import Random

from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import Document, FakeCluster
from search import manifests
from search.lives.staff import Staff

WRITES = frozenset({"bind", "nominate", "patch_pod_condition", "delete_pod", "patch_status"})


class Mishaps:
    """Changes a cluster at random. Each returns what it did, for the story of a life."""

    def __init__(self, cluster: FakeCluster, staff: Staff, dice: Random) -> None:
        self._cluster = cluster
        self._staff = staff
        self._dice = dice
        self._number = 0

    def happen(self) -> str:
        """Let something happen."""
        return self._dice.choice(EVERY)(self)

    def fault(self, call: Call) -> Fault | None:
        """Let a write fail, now and then: before it was made, after, or late."""
        if call.method not in WRITES or self._dice.random() > 0.1:
            return None
        error = self._dice.choice(
            (None, ApiError(500, "internal error"), ApiError(0, "timeout"), ApiError(429, "slow"))
        )
        delay = self._dice.choice((0.01, 0.5, 2.0))
        after = self._dice.random() < 0.5 and (error is None or error.status != 429)
        return Fault(error, after=after, delay_seconds=delay)

    def _pod_fails(self) -> str:
        running = [body for body in self._pods() if body["spec"].get("nodeName")]
        if not running:
            return ""
        metadata = self._dice.choice(running)["metadata"]
        with self._cluster.changing(PODS, metadata["namespace"], metadata["name"]) as found:
            found["status"]["phase"] = "Failed"
        return f"{metadata['name']} fails"

    def _pod_is_deleted(self) -> str:
        pods = self._pods()
        if not pods:
            return ""
        metadata = self._dice.choice(pods)["metadata"]
        self._cluster.delete(PODS, metadata["namespace"], metadata["name"])
        return f"{metadata['name']} is deleted"

    def _node_is_lost(self) -> str:
        node = self._dice.choice(self._cluster.all(NODES) or [None])
        if node is None:
            return ""
        name = node["metadata"]["name"]
        self._cluster.delete(NODES, "", name)
        for body in self._pods():
            if body["spec"].get("nodeName") == name:
                metadata = body["metadata"]
                self._cluster.delete(PODS, metadata["namespace"], metadata["name"])
        back = {**node, "metadata": {**node["metadata"], "uid": f"{name}-{self._next()}"}}
        self._staff.after(self._dice.choice((5, 40)), lambda: self._put_node(back))
        return f"{name} is lost"

    def _node_is_cordoned(self) -> str:
        return self._change_node("is cordoned", lambda node: _toggle(node["spec"]))

    def _node_moves(self) -> str:
        def move(node: Document) -> None:
            labels = node["metadata"]["labels"]
            keys = [key for key in sorted(labels) if "/" not in key]
            if keys:
                key = self._dice.choice(keys)
                labels[key] = f"{key[0]}{self._dice.randint(1, 2)}"

        return self._change_node("gets other labels", move)

    def _pod_group_goes(self) -> str:
        bodies = self._cluster.all(POD_GROUPS)
        if not bodies:
            return ""
        body = self._dice.choice(bodies)
        metadata = body["metadata"]
        self._cluster.delete(POD_GROUPS, metadata["namespace"], metadata["name"])
        again = {**body, "metadata": {**metadata, "uid": f"group-{self._next()}"}, "status": {}}
        self._staff.after(self._dice.choice((0.1, 10)), lambda: self._put_pod_group(again))
        return f"PodGroup {metadata['name']} is created again"

    def _pod_comes(self) -> str:
        name = f"late{self._next()}"
        asked = {"cpu": self._dice.randint(1, 3)}
        body = manifests.pod(name, asked, spec={"priority": self._dice.choice((0, 10, 30))})
        body["metadata"]["creationTimestamp"] = self._staff.moment()
        self._staff.admit(body)
        return f"{name} comes, of priority {body['spec']['priority']}"

    def _put_pod_group(self, body: Document) -> None:
        body["metadata"]["creationTimestamp"] = self._staff.moment()
        self._cluster.put(POD_GROUPS, body)

    def _put_node(self, body: Document) -> None:
        self._cluster.put(NODES, body)

    def _change_node(self, words: str, change: Callable[[Document], None]) -> str:
        nodes = self._cluster.all(NODES)
        if not nodes:
            return ""
        name = self._dice.choice(nodes)["metadata"]["name"]
        with self._cluster.changing(NODES, "", name) as found:
            change(found)
        return f"{name} {words}"

    def _pods(self) -> list[Document]:
        return [
            body
            for body in self._cluster.all(PODS)
            if not body["metadata"].get("deletionTimestamp")
            and body["spec"]["schedulerName"] == "py-gang-scheduler"
        ]

    def _next(self) -> int:
        self._number += 1
        return self._number


def _toggle(spec: Document) -> None:
    spec["unschedulable"] = not spec.get("unschedulable", False)


EVERY: tuple[Callable[[Mishaps], str], ...] = (
    Mishaps._pod_fails,
    Mishaps._pod_fails,
    Mishaps._pod_is_deleted,
    Mishaps._node_is_lost,
    Mishaps._node_is_cordoned,
    Mishaps._node_moves,
    Mishaps._pod_group_goes,
    Mishaps._pod_comes,
    Mishaps._pod_comes,
)
