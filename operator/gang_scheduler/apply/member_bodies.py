"""One member of each pod set that nodes are asked for, as an object that a template can be made of.

The member of a workload that waits suspended is what its controller would make of the workload as
it is now.
"""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.api.kinds import PODS
from gang_scheduler.api.parsing import without_nulls
from gang_scheduler.api.suspend_fields import SUSPEND_FIELDS
from gang_scheduler.apply.workloads.workload_objects import WorkloadObjects
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Api, Body
from gang_scheduler.decode.workloads import makers, virtual_members
from gang_scheduler.decode.workloads.template_additions import without_additions
from gang_scheduler.model.provisioning import Asking
from gang_scheduler.model.suspended import ManagedWorkload

CONFLICT: Final = 409
CONTAINERS: Final = ("initContainers", "containers")


class MemberBodies:
    """Reads members, or the workloads that have none yet."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._workloads = WorkloadObjects(api)

    async def of(self, asking: Asking) -> list[Body]:
        """Return a member of each pod set. Raises ApiError, also where the workload has changed."""
        pods = [each.pod for each in asking.pod_sets]
        suspended = asking.gang.suspended
        if suspended is None:
            return [await self._api.get(PODS, each.namespace, each.name) for each in pods]
        wanted = {each.name for each in pods}
        workload = await self._read(suspended.workload)
        made = virtual_members.bodies_of(workload)
        found = {name: each for each in made if (name := each["metadata"]["name"]) in wanted}
        if wanted - found.keys():
            raise ApiError(CONFLICT, f"{suspended.workload} has changed")
        return [_with_images(found[each.name]) for each in pods]

    async def _read(self, workload: ManagedWorkload) -> Body:
        """Return the object that says what the members are: of some, the maker made it."""
        maker = next((each for each in makers.MAKERS if each.kind == workload.kind), None)
        if maker is not None and not maker.tells:
            workload = workload._replace(kind=maker.makes)
        body = without_additions(await self._workloads.read(workload))
        version = SUSPEND_FIELDS[workload.kind].versions[0].api_version
        typed: Body = without_nulls({"apiVersion": version, "kind": workload.kind, **body})
        return typed


def _with_images(pod: Body) -> Body:
    """Return a pod with an image in each container: that of its first one, where none is known.

    Its controller adds containers with images of its own configuration.
    """
    spec = pod["spec"]
    image = next((str(each["image"]) for each in spec["containers"] if each.get("image")), "none")
    containers = {
        field: [_with_image(each, image) for each in spec[field]]
        for field in CONTAINERS
        if spec.get(field)
    }
    return {**pod, "spec": {**spec, **containers}}


def _with_image(container: Mapping[str, Any], image: str) -> Mapping[str, Any]:
    return container if container.get("image") else {**container, "image": image}
