"""Room that is reserved for nominated pods, against all gangs of no higher priority."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.trial import Share, Trial, shares


class NominatedRoom:
    """The nominations of waiting pods, assumed on a trial until they are released.

    `queues` are those of the gangs that wait; None where there are no queues.
    """

    def __init__(
        self,
        nominated: Iterable[Nominated],
        trial: Trial,
        queues: Mapping[GangKey, QueueRef | None] | None = None,
    ) -> None:
        self._trial = trial
        self._queues = queues
        self._by_gang: dict[GangKey, list[Nominated]] = {}
        self.keep([each for each in nominated if each.pod.nominated in trial.nodes.rows])

    def below(self, priority: int, queue: QueueRef | None = None) -> list[GangKey]:
        """Return the gangs of lower priority that room is reserved for, of the same queue."""
        found = [
            key for key, nominations in self._by_gang.items() if nominations[0].priority < priority
        ]
        if self._queues is None or not found:
            return found
        return [key for key in found if self._queues.get(key) == queue]

    def all(self) -> list[Nominated]:
        """Return all pods that room is reserved for."""
        return [each for nominations in self._by_gang.values() for each in nominations]

    def binds(self, gang: GangKey) -> list[Bind]:
        """Return the nominated members of a gang on their nodes."""
        return [Bind(each.pod, each.pod.nominated) for each in self._by_gang.get(gang, ())]

    def release(self, gangs: Iterable[GangKey]) -> list[Nominated]:
        """Reserve no room for these gangs any more; return what was reserved."""
        if not self._by_gang:
            return []
        released = [each for key in gangs for each in self._by_gang.pop(key, ())]
        for share in self._shares(released) if released else ():
            self._trial.release(share)
        return released

    def keep_elsewhere(self, released: Sequence[Nominated], nodes: Collection[str]) -> list[Pod]:
        """Reserve room again for gangs with no pod on these nodes; return the other gangs' pods."""
        displaced = {each.gang for each in released if each.pod.nominated in nodes}
        self.keep([each for each in released if each.gang not in displaced])
        return [each.pod for each in released if each.gang in displaced]

    def keep(self, nominated: Sequence[Nominated]) -> None:
        """Reserve room again that was released."""
        if not nominated:
            return
        for each in nominated:
            self._by_gang.setdefault(each.gang, []).append(each)
        for share in self._shares(nominated):
            self._trial.assume(share)

    def _shares(self, nominated: Sequence[Nominated]) -> list[Share]:
        rows = self._trial.nodes.rows
        taken = shares((each.pod.pod_class, rows[each.pod.nominated]) for each in nominated)
        return [replace(share, nominated=True) for share in taken]
