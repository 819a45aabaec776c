"""The words for claims that members are bound after."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.causes.claims import (
    ClaimFailed,
    ClaimFault,
    ClaimNotWritten,
    ClaimsUnbound,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

_CLAIM_FAULTS: Final = {
    ClaimFault.NOT_FOUND: 'persistentvolumeclaim "{name}" not found',
    ClaimFault.DELETING: 'persistentvolumeclaim "{name}" is being deleted',
    ClaimFault.NOT_PROVISIONED: 'provisioning failed for PVC "{name}"',
    ClaimFault.NO_PROVISIONER: 'no provisioner makes a volume for persistentvolumeclaim "{name}"',
    ClaimFault.VOLUME_NOT_FOUND: 'persistentvolume "{name}" not found',
    ClaimFault.VOLUME_TAKEN_BACK: 'ClaimRef got reset for pv "{name}"',
    ClaimFault.VOLUME_OUT_OF_REACH: 'pv "{name}" node affinity doesn\'t match node "{node}"',
}


def _claims_unbound(cause: ClaimsUnbound) -> str:
    claims = "a claim is" if cause.of == 1 else f"{cause.number} of {cause.of} claims are"
    more = f" and {cause.number - 1} more" if cause.number > 1 else ""
    claim, storage_class = cause.first
    return f"{claims} not bound yet: {claim} (StorageClass {storage_class}){more}"


def _claim_not_written(cause: ClaimNotWritten) -> str:
    what = f"volume {cause.volume}" if cause.volume else f"node {cause.node}"
    return f"{what} for claim {cause.claim} cannot be written: {cause.answer}"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(ClaimsUnbound, _claims_unbound),
        entry(
            ClaimFailed,
            lambda it: _CLAIM_FAULTS[it.fault].format(name=it.name, node=it.node),
        ),
        entry(ClaimNotWritten, _claim_not_written),
    )
)
