"""Clusters read from files: manifests, output of `kubectl get -o yaml`, and snapshots."""

from collections.abc import Sequence

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.from_settings import membership
from gang_scheduler.inspection.cluster import Cluster, Source, known_namespaces
from gang_scheduler.inspection.listing import waits
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.documents import Item
from gang_scheduler.simulation.objects import Objects, UnreadableInput, filled
from gang_scheduler.simulation.snapshot_files import LIVE, header_among, policy_of


def read(filenames: Sequence[str], policy: Policy, *, at: int | None = None) -> Cluster:
    """Return the cluster that files describe, as of `at`, in seconds since the epoch.

    For a snapshot, its own time and settings are used; settings given in `policy` win. Raises
    UnreadableInput with all errors in the files.
    """
    return loaded(list(documents.read(filenames)), policy, at=at)[0]


def loaded(
    items: Sequence[Item], policy: Policy, *, at: int | None = None
) -> tuple[Cluster, Objects]:
    """Return the cluster that the items read from files describe, and its objects."""
    header = header_among(items)
    try:
        policy, of_settings = policy_of(header, policy)
    except InvalidField as error:
        raise UnreadableInput([documents.Problem(str(error))]) from error
    found = objects.load(
        items, policy.rules.gangs.scheduler_names[0], at=at, membership=membership(policy)
    )
    notes = (*of_settings, *objects.remarks_of(found, policy.rules.gangs.scheduler_names))
    cache = filled(found, policy)
    waits.keep_room(cache)
    waits.set_aside_as_written(cache, found.read_at)
    cluster = Cluster(
        *(cache, policy, found.read_at, Source.FILES),
        settings_of=header.profile_of if header is not None else "",
        notes=notes,
        unread=tuple(header.not_readable) if header is not None else (),
        namespaces=known_namespaces(cache) | _namespaced(found),
        of_snapshot=header is not None and header.source == LIVE,
        events=header.events if header is not None else None,
    )
    return cluster, found


def _namespaced(found: Objects) -> frozenset[str]:
    """Return the namespaces that manifests name."""
    metadata = (each.body["metadata"] for each in found.loaded if each.body is not None)
    return frozenset(each["namespace"] for each in metadata if each.get("namespace"))
