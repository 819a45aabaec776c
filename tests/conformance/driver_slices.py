"""Slices and classes as drivers of devices publish them, by the names and types that they use.

The names of attributes and capacities are facts of the drivers' code; the values are ours. Each
node has the devices that the examples of its driver are about.
"""

from collections.abc import Callable
from typing import Any, Final

Body = dict[str, Any]
NODE: Final = "node-0"


def _class(name: str, expression: str) -> Body:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _pool(driver: str, *parts: Body) -> list[Body]:
    """Return the slices of the node's pool."""
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": len(parts)}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{NODE}-{driver}-{number}"},
            "spec": {"driver": driver, "nodeName": NODE, "pool": pool, **part},
        }
        for number, part in enumerate(parts)
    ]


def _typed(value: object) -> Body:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    text = str(value)
    return {"version": text.removeprefix("v")} if text.startswith("v") else {"string": text}


def _device(name: str, capacity: dict[str, Any], **attributes: Any) -> Body:
    values = {
        key: value if isinstance(value, dict) else {"value": value}
        for key, value in capacity.items()
    }
    return {
        "name": name,
        "attributes": {key.replace("__", "/"): _typed(each) for key, each in attributes.items()},
        **({"capacity": values} if values else {}),
    }


# dra-driver-nvidia-gpu: deviceinfo.go, mig.go of the GPU plugin, and of that of ComputeDomains.

_A100: Final[dict[str, Any]] = {
    "productName": "NVIDIA A100-SXM4-40GB",
    "brand": "Nvidia",
    "architecture": "Ampere",
    "cudaComputeCapability": "v8.0.0",
    "driverVersion": "v580.82.7",
    "cudaDriverVersion": "v13.0.0",
}
_MIG: Final = (("1g.5gb", 0), ("1g.5gb", 1), ("2g.10gb", 2), ("3g.20gb", 4))


def nvidia() -> list[Body]:
    """Return a node with two whole A100, two that are cut into parts, and a channel for NVLink."""
    driver, domains = "gpu.nvidia.com", "compute-domain.nvidia.com"
    gpus = [
        _device(f"gpu-{i}", {"memory": "40Gi"}, type="gpu", uuid=f"GPU-{i}", **_A100)
        for i in range(2)
    ]
    parts = [
        _device(
            f"gpu-{gpu}-mig-{profile.replace('.', '')}-{start}",
            {"memory": f"{profile.partition('.')[2].removesuffix('gb')}Gi"},
            **{"type": "mig", "parentUUID": f"GPU-{gpu}", "profile": profile, **_A100},
        )
        for gpu in (2, 3)
        for profile, start in _MIG
    ]
    channel = _device("channel-0", {}, type="channel", id=0)
    daemon = _device("daemon-0", {}, type="daemon", id=0)
    of_type = f"device.attributes['{domains}'].type == 'channel'"
    return [
        *_pool(driver, {"devices": [*gpus, *parts]}),
        *_pool(domains, {"devices": [channel, daemon]}),
        _class(
            "gpu.nvidia.com",
            f"device.driver == '{driver}' && device.attributes['{driver}'].type == 'gpu'",
        ),
        _class(
            "mig.nvidia.com",
            f"device.driver == '{driver}' && device.attributes['{driver}'].type == 'mig'",
        ),
        _class(
            "compute-domain-default-channel.nvidia.com",
            f"device.driver == '{domains}' && {of_type} && device.attributes['{domains}'].id == 0",
        ),
        # Made by the controller of the driver for the ComputeDomain of the example.
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"namespace": "default", "name": "imex-channel-0"},
            "spec": {"spec": {"devices": {"requests": [_channel()]}}},
        },
    ]


def _channel() -> Body:
    name = "compute-domain-default-channel.nvidia.com"
    return {"name": "channel", "exactly": {"deviceClassName": name}}


# dra-example-driver: gpu.go and net.go of its profiles.

_EXAMPLE: Final = "gpu.example.com"


def _example_gpu(name: str, index: int, memory: str, compute: str, **fields: Any) -> Body:
    policy = fields.pop("shared", False)
    capacity = {"memory": _amount(memory, "1Gi", policy), "compute": _amount(compute, "1", policy)}
    made = _device(
        name, capacity, index=index, uuid=name, model="LATEST-GPU-MODEL", driverVersion="v1.0.0"
    )
    return {**made, **({"allowMultipleAllocations": True} if policy else {}), **fields}


def _amount(value: str, step: str, shared: bool) -> Body:  # noqa: FBT001 - a column of a table.
    policy = {"default": value, "validRange": {"min": step, "step": step, "max": value}}
    return {"value": value, **({"requestPolicy": policy} if shared else {})}


def _example(*parts: Body) -> list[Body]:
    return [*_pool(_EXAMPLE, *parts), _class(_EXAMPLE, f"device.driver == '{_EXAMPLE}'")]


def example() -> list[Body]:
    """Return a node with four GPUs."""
    return _example({"devices": [_example_gpu(f"gpu-{i}", i, "80Gi", "100") for i in range(4)]})


def example_shared() -> list[Body]:
    """Return a node with one GPU that claims share."""
    return _example({"devices": [_example_gpu("gpu-0", 0, "80Gi", "100", shared=True)]})


def example_parts() -> list[Body]:
    """Return a node with one GPU in two parts."""
    name = "gpu-0-counters"
    counters = {"memory": {"value": "80Gi"}, "compute": {"value": "100"}}
    half = {"memory": {"value": "40Gi"}, "compute": {"value": "50"}}

    def part(device: str, memory: str, compute: str, uses: Body) -> Body:
        consumes = [{"counterSet": name, "counters": uses}]
        return _example_gpu(device, 0, memory, compute, consumesCounters=consumes)

    halves = [part(f"gpu-0-partition-{i}", "40Gi", "50", half) for i in range(2)]
    return _example(
        {"sharedCounters": [{"name": name, "counters": counters}]},
        {"devices": [*halves, part("gpu-0-full", "80Gi", "100", counters)]},
    )


def example_attached() -> list[Body]:
    """Return a node with a GPU that is attached after a pod has its node."""
    conditions = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    return _example({"devices": [_example_gpu("gpu-0", 0, "80Gi", "100", **conditions)]})


def example_net() -> list[Body]:
    """Return a node with one network card whose bandwidth claims share."""
    driver = "net.example.com"
    width = {"min": "1M", "max": "100G", "step": "1M"}
    bandwidth = {"value": "100G", "requestPolicy": {"default": "1M", "validRange": width}}
    functions = {"value": "100", "requestPolicy": {"default": "1", "validValues": ["1"]}}
    capacity = {"vfs": functions, "ingressBandwidth": bandwidth, "egressBandwidth": bandwidth}
    card = _device(
        *("nic-0", capacity),
        index=0,
        uuid="nic-0",
        model="LATEST-NET-MODEL",
        driverVersion="v1.0.0",
    )
    card["allowMultipleAllocations"] = True
    return [*_pool(driver, {"devices": [card]}), _class(driver, f"device.driver == '{driver}'")]


# k8s-gpu-dra-driver of AMD: deviceinfo.go. A part has `parentDeviceID`, and no `deviceID`.

_MI300X: Final[dict[str, Any]] = {
    "family": "AI",
    "productName": "AMD_Instinct_MI300X_OAM",
    "driverVersion": "v6.12.12",
    "driverSrcVersion": "EC3E6DF1C6D9AD6E6D2A3D8",
}


def amd() -> list[Body]:
    """Return a node with one whole GPU, and two GPUs in two parts each."""
    driver = "gpu.amd.com"
    whole = _device(
        *("gpu-0-128", {"memory": "192Gi", "computeUnits": "304", "simdUnits": "1216"}),
        type="amdgpu",
        pciAddr="0000:0c:00.0",
        cardIndex=0,
        renderIndex=128,
        **{"deviceID": "1", "partitionProfile": "spx_nps1", **_MI300X},
    )
    parts = [
        _device(
            *(f"gpu-{card}-{128 + card}", {"memory": "96Gi", "computeUnits": "152"}),
            type="amdgpu-partition",
            parentPciAddr=f"0000:{parent}c:00.0",
            cardIndex=card,
            renderIndex=128 + card,
            parentDeviceID=str(parent),
            **{"partitionProfile": "dpx_nps1", **_MI300X},
        )
        for card, parent in ((1, 2), (2, 2), (3, 3), (4, 3))
    ]
    return [
        *_pool(driver, {"devices": [whole, *parts]}),
        _class(driver, f"device.driver == '{driver}'"),
    ]


# intel-resource-drivers-for-kubernetes: node_state.go of its plugins for GPUs and for Gaudi.


def intel() -> list[Body]:
    """Return a node with a GPU and a Gaudi."""
    address: dict[str, Any] = {"resource.kubernetes.io__pciBusID": "0000:03:00.0"}
    gpu = _device(
        *("0000-03-00-0-0x56c0", {"memory": "14248Mi", "millicores": "1000"}),
        model="Flex 170",
        family="Data Center Flex",
        driver="i915",
        pciRoot="01",
        **address,
    )
    gaudi = _device("0000-0f-00-0-0x1020", {}, model="Gaudi2", pciRoot="01", serial="AN1")
    return [
        body
        for driver, device in (("gpu.intel.com", gpu), ("gaudi.intel.com", gaudi))
        for body in (
            *_pool(driver, {"devices": [device]}),
            _class(driver, f'device.driver == "{driver}"'),
        )
    ]


PUBLISHED: Final[dict[str, Callable[[], list[Body]]]] = {
    each.__name__: each
    for each in (
        *(nvidia, amd, intel, example, example_shared, example_parts, example_attached),
        example_net,
    )
}
"""What a driver publishes on one node, by the names in `driver-cases.yaml`."""
