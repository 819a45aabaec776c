"""The names of a cluster's objects: a text with one is withheld from users without a right to it.

A name is known for as long as a text may have it. The cluster changes while a request waits for an
answer about rights, and Events are shown for a day: so names of objects that are gone still count.
"""

import functools
import importlib.util
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, Final

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.model.scheduler_events import SchedulerEvent

TOKEN: Final = re.compile(r"[^\W_](?:[-.\w]*[^\W_])?")
"""An object's name, or a label's value. A name that is none of these counts by its parts."""
NUMERIC: Final = re.compile(r"[0-9][-.0-9T]*[A-Za-z]{0,2}")
"""An amount, a time or a part of one, as 8, 500m, 16Gi, 2026-01-01T12 and 00Z."""
GONE_SECONDS: Final = 3600.0
"""A name counts for at least this long after its object, and longer while a text has it.

The API server keeps Events for about as long.
"""
_AMOUNTS: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
_NONE: Final = frozenset[str]()


# Users choose the names of their objects. A user who calls one "needs" must not have all texts
# withheld that say what the gangs of others need. So a name that is a word of our sentences says
# nothing: where a text means such an object of a foreign namespace, it names the namespace, too.

_SAID_BY: Final = (
    *("gang_scheduler.report", "gang_scheduler.model", "gang_scheduler.inspection"),
    "gang_scheduler.scheduler",
)
"""The packages that have all sentences."""


@functools.cache
def own_words() -> frozenset[str]:
    """Return the words of all sentences, from the texts in the code. Takes a second, once."""
    return frozenset(
        token
        for package in _SAID_BY
        for code in _codes(package)
        for text in _texts(code)
        for token in TOKEN.findall(text)
    )


def _codes(package: str) -> Iterator[CodeType]:
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    for each in pkgutil.walk_packages(places, f"{package}."):
        module = importlib.util.find_spec(each.name)
        loader: Any = module.loader if module is not None else None
        yield loader.get_code(each.name)


def _texts(code: CodeType) -> Iterator[str]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _texts(each)
        else:
            values = each if isinstance(each, tuple | frozenset) else (each,)
            yield from (value for value in values if isinstance(value, str))


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
        events: Sequence[SchedulerEvent],
        queues: Iterable[str],
        namespaces: Iterable[str],
    ) -> None:
        """Take in the names of a view that was just made. Linear in its pods, if any changed."""
        last, self._noted = self._noted, cluster
        is_old = self._clock() - self._forgot_at >= GONE_SECONDS
        if is_old:
            self._forget(events)
        for each in events:
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
        for each in TOKEN.findall(name):
            if each not in own_words() and not NUMERIC.fullmatch(each):
                self._owners.add(each, namespace)

    def _forget(self, events: Sequence[SchedulerEvent]) -> None:
        """Forget names that are old and in no decision that is still shown."""
        self._forgot_at = self._clock()
        notes = {each.note for each in events}
        said = {token for note in notes for token in TOKEN.findall(note)}
        for known in (self._owners, self.namespaces, self.nodes, self.queues):
            known.forget(said.__contains__)


def _add_all(known: _Known, names: Iterable[str]) -> None:
    for each in names:
        known.add(each)
