"""References to objects by name and uid: a new object of the same name has another uid."""

from typing import NamedTuple


class PodRef(NamedTuple):
    """A pod by name and uid: a new pod of the same name has another uid."""

    namespace: str
    name: str
    uid: str


class ClaimRef(NamedTuple):
    """A PersistentVolumeClaim by name and uid."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


class VolumeRef(NamedTuple):
    """A PersistentVolume by name and uid."""

    name: str
    uid: str


class JobPods(NamedTuple):
    """How many pods a Job can have at once: at its start, and with the completions left."""

    at_once: int
    left: int
