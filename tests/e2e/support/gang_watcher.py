"""The witness of tests in which gangs come from more than labels."""

import dataclasses
from typing import Any

from tools import controlplane
from tools.controlplane.wholeness import PodEvent
from tools.demo import placements


class GangWatcher(controlplane.Watcher):
    """A Watcher that knows the gang of every pod; a pod that is in none is its own."""

    def _decode(self, pod: dict[str, Any], *, gone: bool) -> PodEvent:
        gang = self._qualified(pod["metadata"], placements.gang_of(pod))
        return dataclasses.replace(super()._decode(pod, gone=gone), gang=gang)
