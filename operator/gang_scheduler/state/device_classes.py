"""DeviceClasses by the resources that they offer."""

from collections.abc import Collection

from gang_scheduler.decode.device_classes import DeviceClass
from gang_scheduler.state.changes import Change
from gang_scheduler.state.node_usage import NodeUsage


class DeviceClassStore:
    """The classes. Of several for one resource the youngest counts, then the one first by name."""

    def __init__(self, node_usage: NodeUsage, classes: dict[str, DeviceClass]) -> None:
        self._node_usage = node_usage
        self._classes = classes

    def upsert(self, found: DeviceClass) -> Change:
        """Add or replace a class."""
        if self._classes.get(found.uid) == found:
            return Change.NOTHING
        self._classes[found.uid] = found
        return self._changed()

    def delete(self, uid: str) -> Change:
        """Forget a class."""
        return self._changed() if self._classes.pop(uid, None) is not None else Change.NOTHING

    def uids(self) -> Collection[str]:
        """Return the uids of all classes."""
        return self._classes.keys()

    def _changed(self) -> Change:
        oldest_first = sorted(
            sorted(self._classes.values(), key=lambda each: each.name, reverse=True),
            key=lambda each: each.created_at,
        )
        offered = {name: each.name for each in oldest_first for name in each.resources}
        self._node_usage.offer(offered)
        # What waits for such a resource is told another reason.
        return Change.ROOM_FREED
