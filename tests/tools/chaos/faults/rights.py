"""Rights of the operator are taken away, and given back."""

from typing import Any

from tools.chaos.faults.fault import RIGHTS, SERVERS, Fault
from tools.chaos.site import ACCOUNT, HOME

RBAC = "/apis/rbac.authorization.k8s.io/v1"


class TakeOneRight(Fault):
    """One rule of the ClusterRole is missing."""

    name = "a right taken away"
    seconds = (3.0, 12.0)
    takes = frozenset({RIGHTS, SERVERS})

    def begin(self) -> None:
        """Take it."""
        self._path = f"{RBAC}/clusterroles/{self.site.role}"
        role = self.site.plane.request("GET", self._path)
        self._rules = role["rules"]
        missing = self.dice.randrange(len(self._rules))
        rule = self._rules[missing]
        self.detail = f"{','.join(rule['verbs'])} {','.join(rule['resources'])}"
        self._write([each for n, each in enumerate(self._rules) if n != missing])

    def end(self) -> None:
        """Give it back."""
        self._write(self._rules)

    def _write(self, rules: list[Any]) -> None:
        role = self.site.plane.request("GET", self._path)
        self.site.plane.request("PUT", self._path, {**role, "rules": rules})


class TakeAllRights(Fault):
    """The ClusterRoleBinding is gone: no request but those for the Lease is allowed."""

    name = "all rights taken away"
    seconds = (2.0, 10.0)
    takes = frozenset({RIGHTS, SERVERS})
    weight = 1

    def begin(self) -> None:
        """Take them."""
        self._path = f"{RBAC}/{self.collection}/{self.binding}"
        found = self.site.plane.request("GET", self._path)
        keep = {key: found["metadata"][key] for key in ("name", "labels")}
        self._binding = {**found, "metadata": keep}
        self.site.plane.request("DELETE", self._path)

    def end(self) -> None:
        """Give them back."""
        self.site.plane.request("POST", f"{RBAC}/{self.collection}", self._binding)

    @property
    def collection(self) -> str:
        """Where the binding is."""
        return "clusterrolebindings"

    @property
    def binding(self) -> str:
        """What it is called."""
        return self.site.role


class TakeLease(TakeAllRights):
    """The RoleBinding is gone: the Lease can be neither read nor renewed."""

    name = "the Lease forbidden"
    seconds = (2.0, 12.0)

    @property
    def collection(self) -> str:
        """Where the binding is."""
        return f"namespaces/{HOME}/rolebindings"

    @property
    def binding(self) -> str:
        """What it is called."""
        return ACCOUNT


FAULTS = (TakeOneRight, TakeAllRights, TakeLease)
