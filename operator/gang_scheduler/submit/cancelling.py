"""Finds the owner of a gang and deletes it; the garbage collector deletes the rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, POD_GROUPS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.inspection.explaining import name_lookup
from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit.gang_states import NoSuchGang
from gang_scheduler.submit.objects import RESOURCES
from gang_scheduler.submit.refusals import Refused

MOST_OWNERS: Final = 4
_BY_KIND: Final = {kind.value: gvr for kind, gvr in RESOURCES.items()}


@dataclass(frozen=True, slots=True)
class Owner:
    """The object whose deletion ends a gang."""

    gvr: GVR
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the object as kubectl prints it."""
        return f"{self.gvr.name}/{self.body['metadata']['name']}"

    @property
    def is_submitted(self) -> bool:
        """Whether `submit` created it."""
        return annotations.SUBMITTED in (self.body["metadata"].get("labels") or {})


async def owner_of(server: Server, name: str, namespace: str) -> Owner:
    """Return the owner of a gang, found by the name of its workload or of its PodGroup.

    Raises NoSuchGang, Refused if the owner cannot be deleted here, ApiError.
    """
    api, wanted = KubernetesApi(server.connection), name_lookup.wanted(name, namespace)
    kinds = {kind: gvr for kind, gvr in _BY_KIND.items() if wanted.kind in ("", kind.lower())}
    found = [
        Owner(gvr, body)
        for gvr in kinds.values()
        if (body := await _get(api, gvr, wanted.namespace, wanted.name)) is not None
    ]
    if len(found) > 1:
        several = ", ".join(each.name for each in found)
        raise Refused("", None, f"several workloads are named {name}: {several}")
    if not found:
        group = await _get(api, POD_GROUPS, wanted.namespace, wanted.name)
        if group is None:
            raise NoSuchGang(name, wanted.namespace)
        found = [Owner(POD_GROUPS, group)]
    return await _topmost(api, found[0], wanted.namespace)


async def _topmost(api: KubernetesApi, owner: Owner, namespace: str) -> Owner:
    for _ in range(MOST_OWNERS):
        references = owner.body["metadata"].get("ownerReferences") or ()
        if not references:
            return owner
        kind, name = references[0]["kind"], references[0]["name"]
        gvr = _BY_KIND.get(kind)
        body = None if gvr is None else await _get(api, gvr, namespace, name)
        if gvr is None or body is None:
            raise Refused("", None, f"{owner.name} belongs to {kind} {name}: delete that")
        owner = Owner(gvr, body)
    return owner


async def _get(api: KubernetesApi, gvr: GVR, namespace: str, name: str) -> Mapping[str, Any] | None:
    try:
        return await api.get(gvr, namespace, name)
    except ApiError as error:
        # Rights for other kinds are needed only when one is requested.
        if error.kind in (Kind.GONE, Kind.DENIED):
            return None
        raise


async def delete(server: Server, owner: Owner, *, force: bool = False) -> None:
    """Delete the owner of a gang; its dependents are deleted with it. Raises Refused, ApiError.

    Deletes only objects that `submit` created, unless `force`.
    """
    if not owner.is_submitted and not force:
        text = f"{owner.name} was not created by submit: use --force to delete it nevertheless"
        raise Refused("", None, text)
    metadata = owner.body["metadata"]
    api = KubernetesApi(server.connection)
    await api.delete(owner.gvr, metadata["namespace"], metadata["name"], str(metadata["uid"]))
