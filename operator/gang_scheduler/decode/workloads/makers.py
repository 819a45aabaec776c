"""Workloads that can wait suspended, and that leave it to another workload to make their pods.

That other one is started and suspended by its maker: it is never managed itself. Makers are read
only where the settings say that they are managed: else all there is to know is in what they make.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.names import group_of
from gang_scheduler.decode.workloads import ray_jobs, train_jobs
from gang_scheduler.decode.workloads.members.present import controller

Body = Mapping[str, Any]


class Maker(NamedTuple):
    """A kind, and the kind of what it makes. `versions` are those that may be served, best first.

    `tells`: its own spec says what its members are; else only what it makes says so.
    """

    kind: str
    versions: tuple[GVR, ...]
    read: Callable[[Body], GangObject]
    makes: str
    tells: bool


MAKERS: Final = (
    Maker("TrainJob", (kinds.TRAIN_JOBS,), train_jobs.read, makes="JobSet", tells=False),
    Maker("RayJob", kinds.RAY_JOBS, ray_jobs.read, makes="RayCluster", tells=True),
)
KINDS: Final = frozenset(each.kind for each in MAKERS)
TELL_NOTHING: Final = frozenset(each.kind for each in MAKERS if not each.tells)
"""The kinds of which only what they make says what the members are."""
_BY_MADE: Final = {(each.makes, each.kind): each for each in MAKERS}


def maker_of(kind: str, body: Body) -> tuple[str, Maker] | None:
    """Return the uid of what made an object of a kind, and its kind; None for any other object."""
    owner = controller(body)
    found = _BY_MADE.get((kind, str(owner.get("kind"))))
    if found is None or group_of(str(owner.get("apiVersion"))) != found.versions[0].group:
        return None
    return str(owner.get("uid", "")), found
