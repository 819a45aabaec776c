"""The rules by which the fake API server takes in patches of ResourceClaims (`pkg/registry`)."""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.port import Body

MOST_USERS: Final = 256


def checked(found: Mapping[str, Any], patch: Body, subresource: str) -> Body:
    """Return the part of a patch that has an effect: only the status, or all except the status.

    Raises ApiError for a status that the API server refuses.
    """
    if subresource != "status":
        return {key: value for key, value in patch.items() if key != "status"}
    _check(found.get("status") or {}, patch.get("status") or {}, found["metadata"]["name"])
    return {key: value for key, value in patch.items() if key == "status"}


def _check(before: Mapping[str, Any], changes: Mapping[str, Any], name: str) -> None:
    after = {**before, **changes}
    allocation, users = after.get("allocation"), after.get("reservedFor") or []
    if users and not allocation:
        raise _invalid(name, "status.reservedFor: may not be set without an allocation")
    if allocation and before.get("allocation") and allocation != before["allocation"]:
        raise _invalid(name, "status.allocation: field is immutable")
    if len(users) > MOST_USERS:
        raise _invalid(name, f"status.reservedFor: must have at most {MOST_USERS} items")
    if len({each["uid"] for each in users}) < len(users):
        raise _invalid(name, "status.reservedFor: duplicate value")


def _invalid(name: str, why: str) -> ApiError:
    return ApiError(422, f'ResourceClaim "{name}" is invalid: {why}')
