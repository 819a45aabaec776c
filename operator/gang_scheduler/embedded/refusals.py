"""The refusal of a request: a Status as kubectl and clients read it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from gang_scheduler.client.errors import ApiError

REASONS: Final = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    501: "NotImplemented",
}


class Cause(NamedTuple):
    """An invalid field, as kubectl shows it."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class Refused(Exception):  # noqa: N818 - named after the problem.
    """A request is refused. `reason` is set if it differs from the status code's usual one."""

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        *,
        causes: Sequence[Cause] = (),
        retry_after: int = 0,
        **details: str,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason or REASONS.get(status, "InternalError")
        self.causes = causes
        self.retry_after = retry_after
        self.details = details

    @property
    def body(self) -> dict[str, Any]:
        """The Status object that is sent as the answer."""
        details: dict[str, Any] = dict(self.details)
        if self.causes:
            details["causes"] = [
                {"reason": each.reason, "message": each.message, "field": each.field}
                for each in self.causes
            ]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.status,
        }


def of_fake(error: ApiError) -> Refused:
    """Return the refusal for an error of the store."""
    causes = [Cause("", error.message, error.cause)] if error.cause else []
    return Refused(error.status, error.message, causes=causes, retry_after=int(error.retry_after))


def not_found(resource: str, name: str) -> Refused:
    """Return the refusal for an object that does not exist."""
    return Refused(404, f'{resource} "{name}" not found', name=name, kind=resource)


def invalid(kind: str, name: str, causes: Sequence[Cause]) -> Refused:
    """Return the refusal of an object with invalid fields."""
    told = [f"{each.field}: {each.message}" for each in causes]
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    return Refused(422, f'{kind} "{name}" is invalid: {text}', causes=causes, name=name, kind=kind)


def changed(resource: str, name: str) -> Refused:
    """Return the refusal of a write to an outdated version."""
    message = (
        f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return Refused(409, message, name=name, kind=resource)


def another(resource: str, name: str, field: str, wanted: object, found: object) -> Refused:
    """Return the refusal of a request whose precondition does not hold."""
    message = (
        f'Operation cannot be fulfilled on {resource} "{name}": Precondition failed: {field} in '
        f"precondition: {wanted}, {field} in object meta: {found}"
    )
    return Refused(409, message, name=name, kind=resource)


Details = Mapping[str, str]
