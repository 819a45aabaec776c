"""Which pods use which claims."""

from collections.abc import Collection, Iterator

from gang_scheduler.model.pods import Pod
from gang_scheduler.state.volumes import pod_storage


class ClaimUsers:
    """The pods by the claims that they name. A pod that has ended uses none."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._users: dict[str, set[str]] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __bool__(self) -> bool:
        return bool(self._pods)

    @property
    def uids(self) -> Collection[str]:
        """The uids of all pods."""
        return self._pods.keys()

    @property
    def claims(self) -> Collection[str]:
        """The keys of all claims that any pod uses, whether or not they exist."""
        return self._users.keys()

    def of(self, claim: str) -> Collection[str]:
        """Return the uids of the pods that use a claim."""
        return self._users.get(claim, ())

    def is_shared(self, claim: str) -> bool:
        """Return whether several pods use a claim."""
        return len(self.of(claim)) > 1

    def add(self, pod: Pod) -> set[str]:
        """Note a pod; return the uids of other pods that now share a claim, or stop sharing one."""
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        return set(self._move(pod.uid, _keys(before), _keys(pod)))

    def remove(self, uid: str) -> set[str]:
        """Forget a pod; return the uids of other pods that now have a claim exclusively."""
        return set(self._move(uid, _keys(self._pods.pop(uid, None)), frozenset()))

    def _move(self, uid: str, left: frozenset[str], taken: frozenset[str]) -> Iterator[str]:
        for key in taken - left:
            users = self._users.setdefault(key, set())
            yield from users if len(users) == 1 else ()
            users.add(uid)
        for key in left - taken:
            users = self._users[key]
            users.discard(uid)
            yield from users if len(users) == 1 else ()
            if not users:
                del self._users[key]


def _keys(pod: Pod | None) -> frozenset[str]:
    if pod is None or pod.terminal:
        return frozenset()
    return frozenset(pod_storage.claim_keys(pod))
