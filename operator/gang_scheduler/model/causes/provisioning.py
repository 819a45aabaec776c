"""How far an autoscaler is with the nodes that a gang waits for."""

from dataclasses import dataclass

from gang_scheduler.model.problems import Cause
from gang_scheduler.model.provisioning import Came


@dataclass(frozen=True, slots=True)
class NodesAwaited(Cause):
    """A request stands; `message` is what the autoscaler says of it."""

    request: str
    class_name: str
    came: Came = Came.ASKED
    message: str = ""


@dataclass(frozen=True, slots=True)
class AskedAgain(Cause):
    """The attempt `number` came to nothing, and another one is made at `until`, in seconds."""

    number: int
    came: Came
    message: str
    until: int


@dataclass(frozen=True, slots=True)
class RequestLeaves(Cause):
    """An earlier request of the gang asks for something else, and is deleted first."""

    request: str


@dataclass(frozen=True, slots=True)
class MostOutstanding(Cause):
    """As many requests of a queue stand as a namespace may have at once; "" is for no queue."""

    queue: str
    number: int


@dataclass(frozen=True, slots=True)
class NotProvisioned(Cause):
    """All attempts came to nothing: the last one so, with this message."""

    number: int
    came: Came
    message: str


@dataclass(frozen=True, slots=True)
class TooManyPodSets(Cause):
    """The members ask for nodes in more ways than a request can say."""

    number: int
    most: int
