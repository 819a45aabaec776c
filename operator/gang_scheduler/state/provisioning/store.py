"""ProvisioningRequests, as the table of kinds needs them: put in, forget, list."""

from collections.abc import Collection

from gang_scheduler.model.provisioning import ProvisioningRequest
from gang_scheduler.state.changes import Change
from gang_scheduler.state.provisioning.provisioning import ProvisioningState


class ProvisioningRequestStore:
    """The requests, ours and those of others."""

    def __init__(self, provisioning: ProvisioningState) -> None:
        self._provisioning = provisioning

    def upsert(self, request: ProvisioningRequest) -> Change:
        """Add or replace a request."""
        return _change(self._provisioning.upsert(request))

    def delete(self, uid: str) -> Change:
        """Forget a request."""
        return _change(self._provisioning.delete(uid))

    def uids(self) -> Collection[str]:
        """Return the uids of all requests."""
        return self._provisioning.requests.uids()


def _change(changed: bool) -> Change:  # noqa: FBT001 - the answer of a part.
    return Change.GANGS_TOUCHED if changed else Change.NOTHING
