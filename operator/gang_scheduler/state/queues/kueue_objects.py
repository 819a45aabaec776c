"""LocalQueues, WorkloadPriorityClasses, AdmissionChecks and their configurations, each by name.

All are dicts that change in place; a change of any is `Change.QUEUES_CHANGED`.
"""

from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

from gang_scheduler.decode.queues.declared import (
    AdmissionCheck,
    LocalQueue,
    ProvisioningRequestConfig,
    WorkloadPriorityClass,
)
from gang_scheduler.decode.queues.kueue_objects import PROVISIONING
from gang_scheduler.decode.sink import HasUid
from gang_scheduler.model.provisioning_rules import ProvisioningRules
from gang_scheduler.model.queues import LocalQueueKey

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=HasUid)


class ByName(Generic[K, T]):
    """The objects of one kind by their names, which outlive their uids."""

    def __init__(self, key: Callable[[T], K]) -> None:
        self.all: dict[K, T] = {}
        self._key = key
        self._keys: dict[str, K] = {}

    def get(self, key: K) -> T | None:
        """Return an object by its name."""
        return self.all.get(key)

    @property
    def uids(self) -> Collection[str]:
        """The uids of all objects."""
        return self._keys.keys()

    def upsert(self, noun: T) -> bool:
        """Add or replace an object; return whether it says something else than before."""
        key = self._key(noun)
        before = self.all.get(key)
        if before is not None:
            # The deletion of an earlier object of this name may have been missed.
            self._keys.pop(before.uid, None)
        self.all[key] = noun
        self._keys[noun.uid] = key
        return before != noun

    def delete(self, uid: str) -> bool:
        """Forget an object; return whether it was known."""
        key = self._keys.pop(uid, None)
        if key is None:
            return False
        del self.all[key]
        return True


class KueueObjects:
    """What gangs and queues refer to by name.

    `local_queues` are by namespace and name, `priority_classes` (WorkloadPriorityClasses) and
    `admission_checks` by name. Each noun says what is known: the ClusterQueue and whether the
    LocalQueue is stopped, the value, the controller. `provisioning_configs` say how the check that
    names one asks for nodes.
    """

    def __init__(self) -> None:
        self.local_queues = ByName[LocalQueueKey, LocalQueue](
            lambda each: LocalQueueKey(each.namespace, each.name)
        )
        self.priority_classes = ByName[str, WorkloadPriorityClass](lambda each: each.name)
        self.admission_checks = ByName[str, AdmissionCheck](lambda each: each.name)
        self.provisioning_configs = ByName[str, ProvisioningRequestConfig](lambda each: each.name)

    def provisioning(self) -> dict[str, ProvisioningRules]:
        """Return the checks that nodes are bought for, by name, and how they are."""
        found = {}
        for check in self.admission_checks.all.values():
            config = self.provisioning_configs.get(check.config)
            if check.controller == PROVISIONING and config is not None:
                found[check.name] = config.rules
        return found
