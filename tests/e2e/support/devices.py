"""Nodes with devices on an API server. Slices are written by hand, as a driver would do it."""

from collections.abc import Iterable
from typing import Any, Final

from e2e.support.namespaces import Namespace
from support import device_objects
from support.device_objects import Body
from tools import controlplane

V1: Final = "/apis/resource.k8s.io/v1"
TEMPLATE: Final = "one"
BY_TEMPLATE: Final = [device_objects.by_template(TEMPLATE)]


def install_class(plane: controlplane.Cluster, **spec: Any) -> None:
    """Create the DeviceClass of the devices; `spec` is added to it."""
    plane.request("POST", f"{V1}/deviceclasses", device_objects.device_class(**spec))


def template(name: str) -> dict[str, Any]:
    """Return a template of claims for one device each."""
    made = device_objects.template(name)
    made["metadata"] = {"name": name}
    return made


def create_slices(
    cluster: controlplane.Cluster,
    nodes: Iterable[str],
    devices: int,
    of_device: Body | None = None,
) -> None:
    """Create the slices of nodes with so many devices each."""
    for name in nodes:
        body = device_objects.resource_slice(name, devices, of_device=of_device)
        del body["metadata"]["uid"]
        cluster.request("POST", f"{V1}/resourceslices", body)


def nodes_with_devices(
    namespace: Namespace, nodes: int, devices: int, cpu: int = 8, of_device: Body | None = None
) -> list[str]:
    """Create nodes of a namespace with so many devices each, and return their names."""
    names = namespace.own_nodes(nodes, cpu=cpu)
    create_slices(namespace.cluster, names, devices, of_device)
    return names


def with_devices(
    namespace: Namespace, nodes: int, devices: int, cpu: int = 8, of_device: Body | None = None
) -> list[str]:
    """Create nodes with devices, and a template of claims for one of these."""
    namespace.create(template(TEMPLATE))
    return nodes_with_devices(namespace, nodes, devices, cpu, of_device)
