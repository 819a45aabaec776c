"""References to objects of a certain life: of the same name, another uid is another object."""

from typing import NamedTuple


class PodRef(NamedTuple):
    """A pod of a certain life: of the same name, another uid is another pod."""

    namespace: str
    name: str
    uid: str


class ClaimRef(NamedTuple):
    """A PersistentVolumeClaim of a certain life."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


class VolumeRef(NamedTuple):
    """A PersistentVolume of a certain life."""

    name: str
    uid: str


class JobPods(NamedTuple):
    """How many pods a Job can have at once: when it began, and with what is left to do."""

    at_once: int
    left: int
