"""The names of a cluster's objects, by which texts are withheld from users without a right to them.

A name is known for as long as a text may have it. The cluster changes while a request waits for an
answer about rights, and Events are shown for a day: so names of objects that are gone still count.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.simulation.snapshot_files import Told

TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[-.A-Za-z0-9]*[A-Za-z0-9])?")
GONE_SECONDS: Final = 3600.0
"""A name counts for at least this long after its object, and longer while a text has it.

The API server keeps Events for about as long.
"""
_AMOUNTS: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
_NONE: Final = frozenset[str]()


class _Known:
    """Names with the namespaces of the objects that have them, until long after their objects."""

    def __init__(self) -> None:
        # Two halves by age; only the older one is dropped.
        self._owners: dict[str, frozenset[str]] = {}
        self._before: dict[str, frozenset[str]] = {}
        # Names of one namespace share its set.
        self._alone: dict[str, frozenset[str]] = {}

    def add(self, name: str, namespace: str = "") -> None:
        known = self._owners.get(name)
        if known is None:
            self._owners[name] = self._alone.setdefault(namespace, frozenset({namespace}))
        elif namespace not in known:
            self._owners[name] = known | {namespace}

    def forget(self, is_said: Callable[[str], bool]) -> None:
        """Drop the older half, except for names that are still said."""
        kept = {name: owners for name, owners in self._before.items() if is_said(name)}
        self._before, self._owners, self._alone = self._owners, kept, {}

    def owners(self, name: str) -> frozenset[str]:
        return self._owners.get(name, _NONE) | self._before.get(name, _NONE)

    def __contains__(self, name: str) -> bool:
        return name in self._owners or name in self._before


class Names:
    """The names of all objects, each known until an hour after its object, or while a text has it.

    For the thread that makes views: the cluster of a view stays as it is only until the next one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.nodes, self.queues, self.namespaces = _Known(), _Known(), _Known()
        self.amounts: frozenset[str] = _AMOUNTS
        self.unusual: Collection[str] = _NONE
        """Names that are no tokens, as a label's value may be, are searched for as they are."""
        self._came: set[str] = set()
        """Those of this view that are new; a user may make thousands of them at once."""
        self._owners = _Known()
        self._clock = clock
        self._forgot_at = clock()
        self._noted: Cluster | None = None

    def owners(self, name: str) -> frozenset[str]:
        """Return the namespaces that have or had objects of this name."""
        return self._owners.owners(name)

    def note(
        self,
        cluster: Cluster,
        told: Sequence[Told],
        queues: Iterable[str],
        namespaces: Iterable[str],
    ) -> None:
        """Take in the names of a view that was just made. Linear in its pods, if any changed."""
        last, self._noted = self._noted, cluster
        is_old = self._clock() - self._forgot_at >= GONE_SECONDS
        if is_old:
            self._forget(told)
        for each in told:
            self._add(each.namespace, each.name)
        _add_all(self.namespaces, namespaces)
        _add_all(self.queues, queues)
        is_same = (
            last is not None
            and last.cache is cluster.cache
            and last.revision == cluster.revision
            and last.decision == cluster.decision
        )
        if is_old or not is_same:
            self._note_objects(cluster)
        if self._came:
            # Another thread may be going through the names so far.
            self.unusual, self._came = {*self.unusual, *self._came}, set()

    def _note_objects(self, cluster: Cluster) -> None:
        cache = cluster.cache
        table = cache.node_usage.table()
        self.amounts = _AMOUNTS.union(table.axis)
        _add_all(self.nodes, (each.name for each in table.nodes))
        for key in cache.gang_queue.infos:
            self._add(key.namespace, key.name)
        for pod in cache.pods():
            self._add(pod.namespace, pod.name)
            self._add(pod.namespace, pod.job)
            self._add(pod.namespace, pod.gang.name)

    def _add(self, namespace: str, name: str) -> None:
        for each in filter(None, name.split("/")):
            if each not in self._owners and not TOKEN.fullmatch(each):
                self._came.add(each)
            self._owners.add(each, namespace)

    def _forget(self, told: Sequence[Told]) -> None:
        """Forget names that are old and in no decision that is still shown."""
        self._forgot_at = self._clock()
        notes = {each.note for each in told}
        said = {token for note in notes for token in TOKEN.findall(note)}
        said.update(each for each in self.unusual if any(each in note for note in notes))
        for known in (self._owners, self.namespaces, self.nodes, self.queues):
            known.forget(said.__contains__)
        self.unusual = {each for each in self.unusual if each in self._owners}


def _add_all(known: _Known, names: Iterable[str]) -> None:
    for each in names:
        known.add(each)
