"""ProvisioningRequests of ours, and Kueue's ProvisioningRequestConfigs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.decode import fields
from gang_scheduler.decode.queues.declared import ProvisioningRequestConfig
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.model.queues import ProvisioningRules, Retry
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire import provisioning
from gang_scheduler.wire.base import Condition

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = "py-gang-scheduler"
_TELLING: Final = (
    RequestState.FAILED,
    RequestState.REVOKED,
    RequestState.EXPIRED,
    RequestState.PROVISIONED,
    RequestState.ACCEPTED,
)
"""The conditions in order: the first true one decides the state of a request."""


NO_GANG: Final = GangKey("", "", "")
"""The gang of a request that is not ours."""


def request(body: Mapping[str, Any]) -> ProvisioningRequest:
    """Return a request; a foreign request has no gang. Raises InvalidField."""
    source = fields.read(body, provisioning.ProvisioningRequest)
    metadata, spec = source.metadata, source.spec
    present = metadata.annotations
    state, message, since = _state(source.status.conditions)
    return ProvisioningRequest(
        namespace=metadata.namespace,
        name=metadata.name,
        gang=_gang(metadata.namespace, metadata.labels, present),
        gang_uid=present.get(annotations.PROVISIONED_GANG_UID, ""),
        digest=present.get(annotations.PROVISIONING_DIGEST, ""),
        attempt=_attempt(present.get(annotations.PROVISIONING_ATTEMPT, "")),
        class_name=spec.provisioning_class_name,
        uid=metadata.uid,
        api_version=str(body.get("apiVersion", "")),
        state=state,
        message=message,
        since=since or fields.timestamp(metadata.creation_timestamp),
        deleting=bool(metadata.deletion_timestamp),
        templates=tuple(each.pod_template_ref.name for each in spec.pod_sets),
    )


def config(body: Mapping[str, Any]) -> ProvisioningRequestConfig:
    """Return a ProvisioningRequestConfig. Raises InvalidField."""
    source = fields.read(body, provisioning.ProvisioningRequestConfig)
    spec, retry = source.spec, source.spec.retry_strategy
    return ProvisioningRequestConfig(
        source.metadata.uid,
        source.metadata.name,
        ProvisioningRules(
            class_name=spec.provisioning_class_name,
            parameters=tuple(sorted(spec.parameters.items())),
            managed=tuple(spec.managed_resources),
            retry=Retry(
                retry.backoff_limit_count, retry.backoff_base_seconds, retry.backoff_max_seconds
            ),
        ),
    )


def written(key: GangKey) -> str:
    """Return the annotation text that names a gang on its request; `request` reads it."""
    return f"{key.source}/{key.name}"


def _gang(namespace: str, labels: Mapping[str, str], present: Mapping[str, str]) -> GangKey:
    """Return the gang of a request of ours, always in the namespace of the request."""
    if labels.get(MANAGED_BY) != OURS:
        return NO_GANG
    source, _, name = present.get(annotations.PROVISIONED_GANG, "").partition("/")
    return GangKey(source, namespace, name) if name else NO_GANG


def _attempt(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= 4 else 1


def _state(conditions: Iterable[Condition]) -> tuple[RequestState, str, int]:
    """Return the state of a request, its message, and since when it has been in it; 0: unknown."""
    true = {each.type: each for each in conditions if each.status == "True"}
    for state in _TELLING:
        if (found := true.get(state.value)) is not None:
            said = _expected(conditions) if state is RequestState.ACCEPTED else ""
            since = fields.timestamp(found.last_transition_time or "", "status.conditions")
            return state, said or found.message, since
    return RequestState.ASKED, "", 0


def _expected(conditions: Iterable[Condition]) -> str:
    """Return the message about nodes that are still on their way, such as the expected time."""
    return next((each.message for each in conditions if each.type == RequestState.PROVISIONED), "")
