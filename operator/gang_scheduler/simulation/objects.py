"""The objects of the input, all its problems and remarks, and the cache that the objects fill."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gang_scheduler import from_settings
from gang_scheduler.api.kinds import PROVISIONING_REQUESTS, RESOURCE_CLAIMS
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.wording import counted
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import defaults, snapshot_files
from gang_scheduler.simulation.defaults import served as served_by
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.reading import (
    DEFAULT_SCHEDULER,
    UNDATED_SECONDS,
    Loaded,
    Reading,
    SchedulerNames,
)
from gang_scheduler.simulation.snapshot_files import LIVE, Header
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.workloads.controllers import Present
from gang_scheduler.workloads.table import MEMBERSHIP


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of the input, in its order.

    `read_at`, in seconds since the epoch, is the requested time, or one second after the latest
    time in the input. `notes` are lines for users about parts that were left out. `assumed_ours` is
    the number of pods without a schedulerName that were given ours. `not_expanded` is the number of
    workloads in manifests whose kind gets no pods here. `unknown_fields` is the number of fields
    that an API server would drop. `header` comes from a snapshot in the input, if there is one.
    """

    loaded: tuple[Loaded, ...]
    read_at: int
    notes: tuple[str, ...] = ()
    assumed_ours: int = 0
    not_expanded: int = 0
    unknown_fields: int = 0
    header: Header | None = None


class UnreadableInput(Exception):  # noqa: N818 - named after the problem, like InvalidField
    """The input has problems; nothing was decided."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__(*(problem.text for problem in problems))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each problem."""
        return self.args


def load(
    documents: Iterable[Item],
    scheduler: str,
    *,
    assume_ours: bool | None = None,
    at: int | None = None,
    membership: Membership = MEMBERSHIP,
    strict: bool = False,
) -> Objects:
    """Return the objects of the documents. Raises UnreadableInput with all faults found.

    `scheduler` is the schedulerName for pods that have none, if `assume_ours`; otherwise they
    belong to default-scheduler. By default, pods of manifests are ours, and pods from a cluster are
    not. `at` is when the input is read, in seconds since the epoch; by default when its snapshot
    was taken, else after all times in it. `membership` finds the gangs of pods. `strict`: a
    manifest that the API server would refuse is a fault, and fields that it would drop are noted.
    """
    found = list(documents)
    header = snapshot_files.header_among(found)
    bodies = [each.body for each in found if isinstance(each, Document)]
    read = Reading(Present(bodies), membership, defaults.kind_named(bodies), strict=strict)
    for each in found:
        read.take(each)
    if at is None and header is not None:
        at = header.at
    if at is not None:
        read.latest = at - UNDATED_SECONDS
    loaded = read.load(SchedulerNames(scheduler, assume_ours, read.uids))
    if read.problems:
        raise UnreadableInput(read.problems)
    return Objects(
        loaded,
        read.latest + UNDATED_SECONDS,
        notes=(*_unread(header), *read.remarks()),
        assumed_ours=read.assumed_ours,
        not_expanded=read.skipped.not_expanded,
        unknown_fields=len(read.unknown_fields),
        header=header,
    )


def _unread(header: Header | None) -> Iterator[str]:
    """Yield the remarks about kinds that a snapshot does not contain."""
    if header is not None and header.not_readable:
        yield f"not in the snapshot, since they may not be listed: {', '.join(header.not_readable)}"


def filled(objects: Objects, decides: Policy) -> Cache:
    """Return a cache of the objects, as the watches of `run` would fill it."""
    header = objects.header
    if not decides.rules.workloads.manage_jobs and (header is None or header.source != LIVE):
        # There is no operator here: it is assumed to start suspended workloads.
        decides = decides.model_copy(update={"manage_jobs": tuple(ManagedKind)})
    cache = from_settings.cache(decides, Changes())
    cache.gang_queue.expect_nothing()
    for each in objects.loaded:
        cache.upsert(kinds.of(each.gvr).store(cache), each.decoded)
    served_here = served_by({each.gvr for each in objects.loaded})
    for product, named in kinds.QUEUES_NAMED.items():
        served = product in served_here
        if header is not None and header.source == LIVE:
            served = named.name in header.counts
        cache.serve_queues(product, served=served)
    # A snapshot of a cluster without the kind cannot request nodes. For other files, no request
    # need be in the input.
    counts = header.counts if header is not None and header.source == LIVE else None
    served = counts is None or PROVISIONING_REQUESTS[0].name in counts
    cache.serve_provisioning(served=served)
    # Files need not contain any object of these kinds.
    cache.serve_devices(served=counts is None or RESOURCE_CLAIMS.name in counts)
    return cache


# Remarks about the input, for stderr.


def remarks_of(found: Objects, schedulers: Collection[str]) -> Iterator[str]:
    """Yield remarks on objects that were left out, assumed, or missing."""
    yield from found.notes
    if found.assumed_ours:
        one = found.assumed_ours == 1
        yield (
            f"{counted(found.assumed_ours, 'pod')} {'has' if one else 'have'} no "
            f"spec.schedulerName: simulate treats {'it' if one else 'them'} as "
            f"{'a pod' if one else 'pods'} of {next(iter(schedulers))}. On a cluster, "
            f"{DEFAULT_SCHEDULER} would place {'it' if one else 'them'}. To simulate that, add "
            "--no-assume-scheduler-name."
        )
    decoded_objects = [each.decoded for each in found.loaded]
    if not any(isinstance(each, Node) for each in decoded_objects):
        yield "the input has no nodes"
    pods = [each for each in decoded_objects if isinstance(each, Pod)]
    waits = any(map(_waits_suspended, decoded_objects))
    if not (pods or waits):
        yield "the input has no pods"
    elif not (waits or any(each.scheduler in schedulers for each in pods)):
        number = counted(len(pods), "pod")
        yield f"none of the {number} in the input has schedulerName {_names(schedulers)}"
    else:
        yield from _of_others(pods, schedulers)


def _waits_suspended(decoded: object) -> bool:
    return isinstance(decoded, GangObject) and decoded.suspended is not None


def remarks_on_topologies(found: Objects, cache: Cache) -> Iterator[str]:
    """Yield a remark if layers are unknown because the input has no topology."""
    if any(isinstance(each.decoded, DeclaredTopology) for each in found.loaded):
        return
    verdicts = [info.verdict for info in cache.gang_queue.infos.values()]
    reasons = {problem.reason for each in verdicts for problem in each.warnings or ()}
    reasons.update(each.refusal.reason for each in verdicts if each.refusal is not None)
    if Reason.UNKNOWN_LAYER in reasons:
        yield (
            "the input has no ClusterNetworkTopology, and no Topology of Kueue: the layers that "
            "gangs ask for are unknown (a dump has them only if they were asked for by kind)"
        )


def _of_others(pods: Iterable[Pod], schedulers: Collection[str]) -> Iterator[str]:
    """Yield a remark on pods that wait for other schedulers, which do not run here."""
    waiting = [each for each in pods if each.living and not each.node]
    others = Counter(each.scheduler for each in waiting if each.scheduler not in schedulers)
    for scheduler, number in sorted(others.items()):
        has = "has" if number == 1 else "have"
        waits = f"{counted(number, 'pod')} without a node {has} schedulerName {scheduler}"
        yield f"{waits}: not scheduled here"


def _names(schedulers: Collection[str]) -> str:
    return " or ".join(schedulers)
