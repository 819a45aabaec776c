"""Causes in the claims of pods for devices: objects missing or invalid, and selectors that fail."""

from typing import Self

from gang_scheduler.model.reasons import (
    Cause,
)


class ClaimNotCreated(Cause, frozen=True):
    """The claim of an entry of `spec.resourceClaims` is still to be made from its template."""

    entry: str
    pod: str

    def text(self) -> str:
        return f"claim {self.entry} of pod {self.pod} is not created yet"


class ClaimBeingDeleted(Cause, frozen=True):
    """The claim of a pod is being deleted, and may come again."""

    claim: str
    pod: str

    def text(self) -> str:
        return f"ResourceClaim {self.claim} of pod {self.pod} is being deleted"


class ClaimBeingWithdrawn(Cause, frozen=True):
    """The devices of a claim, which an earlier attempt left, are being freed."""

    claim: str
    pod: str

    def text(self) -> str:
        return (
            f"ResourceClaim {self.claim} of pod {self.pod} is giving back the devices of an "
            "attempt that failed"
        )


class ClaimObjectMissing(Cause, frozen=True):
    """A ResourceClaim or ResourceClaimTemplate (`kind`) that a pod names does not exist."""

    kind: str
    name: str
    entry: str
    pod: str

    def text(self) -> str:
        named = f"spec.resourceClaims[name={self.entry}] of pod {self.pod}"
        return f'{self.kind} "{self.name}", which {named} names, does not exist'


class ClaimOfAnother(Cause, frozen=True):
    """A generated claim is not controlled by the pod that names it."""

    claim: str
    pod: str

    def text(self) -> str:
        return f"ResourceClaim {self.claim} was not created for pod {self.pod}"


class ClaimInvalid(Cause, frozen=True):
    """A claim can never be allocated; `request` is "" if the claim as a whole is at fault."""

    claim: str
    request: str
    fault: str

    @classmethod
    def of_pod(cls, entry: str, pod: str, request: str, fault: str) -> Self:
        """Return the fault of the claim of an entry of a pod."""
        return cls(f"{entry} of pod {pod}", request, fault)

    def text(self) -> str:
        request = f", request {self.request}" if self.request else ""
        return f"claim {self.claim}{request}: {self.fault}"


class DevicesAwaited(Cause, frozen=True):
    """The number of devices of a plan that their drivers have not attached yet.

    `claim`, `device` and `condition` are of the first of them: the driver has to set the condition.
    """

    number: int
    total: int
    claim: str
    device: str
    condition: str

    def text(self) -> str:
        devices = "a device is" if self.total == 1 else f"{self.number} of {self.total} devices are"
        lacks = f"{self.device} of claim {self.claim} lacks condition {self.condition}"
        return f"{devices} not attached yet: {lacks}"


class DeviceNotAttached(Cause, frozen=True):
    """A device was given up, with all devices of the gang.

    Its driver set a failure `condition`, or did not set this condition for so many `seconds`.
    """

    claim: str
    device: str
    condition: str
    seconds: float | None = None

    def text(self) -> str:
        of = f"{self.device} of claim {self.claim}"
        if self.seconds is None:
            return f"device {of} cannot be attached: condition {self.condition} is True"
        lacks = f"device {of} still lacks condition {self.condition}"
        return f"given up after {self.seconds:g} s: {lacks}"


class ComputeDomainApart(Cause, frozen=True):
    """Members claim channels of a ComputeDomain, but the gang asks for no common NVLink domain."""

    label_key: str

    def text(self) -> str:
        works = f"its ComputeDomain works within one {self.label_key}"
        return f"{works}: ask for MustGather at that layer"


# The faults of claims that can never be allocated.


def class_missing(name: str) -> str:
    """Return the fault of a request for devices of a class that does not exist."""
    return f"device class {name} does not exist"


def too_many_devices(number: int, most: int) -> str:
    """Return the fault of a claim that asks for more devices than one can have."""
    return f"it asks for {number} devices, and a claim can have at most {most}"


def too_many_pods(most: int) -> str:
    """Return the fault of a claim that more pods name than can use it."""
    return f"at most {most} pods can use it: use resourceClaims of the PodGroup"


def field_invalid(field: str, value: str, expected: str, device_class: str = "") -> str:
    """Return the fault of an invalid field of a claim, or of a DeviceClass."""
    of = f"DeviceClass {device_class}: " if device_class else ""
    return f"{of}{field} {value} {expected}"


def field_unsupported(field: str, gate: str, device_class: str = "") -> str:
    """Return the fault of a field of a claim or a DeviceClass that this scheduler cannot honour."""
    of = f"DeviceClass {device_class}: " if device_class else ""
    feature = f" (feature {gate})" if gate else ""
    return f"{of}{field} cannot be honoured by this scheduler yet{feature}"
