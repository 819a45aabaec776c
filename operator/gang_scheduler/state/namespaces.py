"""All namespaces as last seen: their labels, and the queues of gangs in them."""

from collections.abc import Collection, Mapping

from gang_scheduler.decode.cluster import NAME_LABEL, DeclaredNamespace


class Namespaces:
    """All namespaces. A namespace that was never seen has only the label of its name."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredNamespace] = {}
        self._names: dict[str, str] = {}

    @property
    def uids(self) -> Collection[str]:
        """The uids of all namespaces."""
        return self._names.keys()

    @property
    def names(self) -> Collection[str]:
        """The names of all namespaces."""
        return self._known.keys()

    def labels_of(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
        found = self._known.get(name)
        return {NAME_LABEL: name} if found is None else found.labels

    def default_queue_of(self, name: str) -> str:
        """Return the queue of a namespace for gangs that name none, "" for none."""
        found = self._known.get(name)
        return "" if found is None else found.default_queue

    def says_else(self, declared: DeclaredNamespace) -> bool:
        """Return whether a namespace differs from its last state."""
        return self.labels_of(declared.name) != declared.labels or self.names_another(declared)

    def names_another(self, declared: DeclaredNamespace) -> bool:
        """Return whether a namespace names another queue than before."""
        return self.default_queue_of(declared.name) != declared.default_queue

    def upsert(self, declared: DeclaredNamespace) -> bool:
        """Add or replace a namespace; return whether its labels have changed."""
        before = self.labels_of(declared.name)
        if declared.name in self._known:
            self._names.pop(self._known[declared.name].uid, None)
        self._known[declared.name] = declared
        self._names[declared.uid] = declared.name
        return before != declared.labels

    def delete(self, uid: str) -> str:
        """Forget a namespace; return its name, empty for an unknown one."""
        name = self._names.pop(uid, "")
        self._known.pop(name, None)
        return name
