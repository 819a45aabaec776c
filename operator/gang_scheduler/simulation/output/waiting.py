"""The pods that wait in the end, and why. Every waiting pod is reported once."""

from collections.abc import Iterator
from dataclasses import replace

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Plan, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import retries


class Waiting:
    """The gangs that wait after the cycles up to now, and the nominations of their members."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._refused: dict[GangKey, Refused] = {}
        self._nominated: dict[str, tuple[GangKey, Bind]] = {}

    def note(self, plan: Plan) -> None:
        """Record the refusals and nominations of a plan; the gangs decided last come last."""
        decided = [each.gang.key for each in plan.placed] + [each.gang.key for each in plan.refused]
        for key in decided:
            self._refused.pop(key, None)
        self._refused.update((refused.gang.key, refused) for refused in plan.refused)
        for made in plan.preemptions:
            gang_of = {pod.uid: gang.key for gang in made.gangs for pod in gang.pending}
            for bind in made.nominations:
                self._nominated.pop(bind.pod.uid, None)
                self._nominated[bind.pod.uid] = (gang_of[bind.pod.uid], bind)

    def nominated(self) -> tuple[tuple[GangKey, Bind], ...]:
        """Return the nominations that are still in force."""
        now = {uid: self._cache.pod(uid) for uid in self._nominated}
        return tuple(
            (key, bind)
            for uid, (key, bind) in self._nominated.items()
            if (pod := now[uid]) is not None and not pod.node and pod.nominated == bind.node
        )

    def refused(self) -> tuple[Refused, ...]:
        """Return why members without a nomination wait, gang by gang."""
        nominees = {bind.pod.uid for _, bind in self.nominated()}
        keys = dict.fromkeys((*self._refused, *self._cache.gang_queue.infos))
        return tuple(each for key in keys for each in self._refusal(key, nominees))

    def _refusal(self, key: GangKey, nominees: set[str]) -> Iterator[Refused]:
        info, refused = self._cache.gang_queue.infos.get(key), self._refused.get(key)
        if info is None or info.awaits_pods:
            return
        gang = info.as_gang(self._cache.schedulers)
        waiting = tuple(pod for pod in gang.pending if pod.uid not in nominees)
        if not waiting:
            return
        if refused is None:
            yield retries.untold(gang, waiting)
        elif len(waiting) < len(gang.pending):
            # The quorum is nominated, so waiting members without a nomination are surplus.
            yield replace(refused, pods=waiting, left_over=True)
        else:
            yield from _beside_the_limit(gang, refused, waiting)


def _beside_the_limit(gang: Gang, refused: Refused, waiting: tuple[Pod, ...]) -> Iterator[Refused]:
    """Yield why the `waiting` members of a gang wait.

    Members above the maximum of an elastic gang do not wait for room, and get a reason of their
    own.
    """
    spoken_of = {pod.uid for pod in refused.pods}
    others = tuple(pod for pod in waiting if pod.uid not in spoken_of)
    told = retries.untold(gang, others) if refused.left_over and others else None
    if told is not None and told.reason is Reason.ELASTIC_LIMIT:
        yield told
        waiting = tuple(pod for pod in waiting if pod.uid in spoken_of)
    yield replace(refused, pods=waiting)
