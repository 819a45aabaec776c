"""Finds out whether Kueue or Volcano's scheduler decides quota in this cluster.

Two deciders of quota would undo each other's decisions. It also finds out whether these products
may have queues at all: whether their CRDs are installed. A controller runs while its Lease is
renewed. Only the first check compares two clocks; later ones see whether the Lease has changed
since.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.background_tasks import every
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import timestamp_or_zero
from gang_scheduler.model.queues import Product
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.kinds import QUEUES_NAMED
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.wire.cluster import Lease, LeaseSpec

LOOK_SECONDS: Final = 10.0
RENEWED_SECONDS: Final = 60.0
"""A Lease that was not renewed for this long has expired."""
PATIENCE_SECONDS: Final = 60.0
"""How much later this scheduler begins to enforce quota: the controller may only be restarting."""

log = Logger()


class LeaseName(NamedTuple):
    """The Lease of a controller."""

    namespace: str
    name: str


LEASES_OF_CONTROLLERS: Final[Mapping[Product, str]] = {
    Product.KUEUE: "c1f6bfd2.kueue.x-k8s.io",
    Product.VOLCANO: "volcano",
}
"""The Leases by name, as these products create them by default."""


class QuotaControllers:
    """Checks the Leases of products that may have queues here, and updates the cache.

    `tell` is called with the Lease and its uid when a controller is found to have started.
    `not_served` are the names of kinds whose CRDs are not installed. `clock` is in seconds since
    the epoch, `monotonic` in seconds.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        namespaces: Mapping[Product, str],
        tell: Callable[[Product, LeaseName, str], None],
        *,
        not_served: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._cache = cache
        self._leases = {
            product: LeaseName(namespace, LEASES_OF_CONTROLLERS[product])
            for product, namespace in namespaces.items()
            if product in cache.queues.watched
        }
        self._tell = tell
        self._not_served = not_served
        self._clock = clock
        self._monotonic = monotonic
        self._renewals: dict[Product, str] = {}
        self._seen_at: dict[Product, float] = {}
        self._uids: dict[Product, str] = {}
        self._running: set[Product] = set()
        self._unread: set[Product] = set()

    async def run(self) -> None:
        """Check every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.look, "look for", "controllers of quota")

    async def look(self) -> None:
        """Check each Lease once.

        Costs nothing for a product without installed CRDs.
        """
        not_served = set(self._not_served())
        served = {each for each, gvr in QUEUES_NAMED.items() if gvr.name not in not_served}
        for product, lease in self._leases.items():
            if product in served or self._cache.queues.has(product):
                await self._look_at(product, lease)
        # Only now: while another controller decides, names are not judged here.
        for product in QUEUES_NAMED:
            self._cache.serve_queues(product, served=product in served)

    async def _look_at(self, product: Product, lease: LeaseName) -> None:
        try:
            found = await self._read(lease)
        except (ApiError, InvalidField) as error:
            # The state is unknown: the last known state counts for a limited time.
            if product not in self._unread:
                log.warning("lease_not_read", lease="/".join(lease), error=str(error))
            self._unread.add(product)
        else:
            self._unread.discard(product)
            self._note(product, found.spec)
            self._uids[product] = found.metadata.uid
        self._judge(product, lease)

    async def _read(self, lease: LeaseName) -> Lease:
        """Return a Lease, or an empty one if it does not exist.

        Raises ApiError and InvalidField.
        """
        try:
            return fields.read(await self._api.get_lease(*lease), Lease)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return Lease()
            raise

    def _judge(self, product: Product, lease: LeaseName) -> None:
        runs = self._runs(product)
        if runs and product not in self._running:
            log.info("quota_is_decided_by_another", product=product.value, lease="/".join(lease))
            self._tell(product, lease, self._uids.get(product, ""))
        self._running = self._running | {product} if runs else self._running - {product}
        self._cache.enforce_quota(product, enforced=not runs)

    def _note(self, product: Product, spec: LeaseSpec) -> None:
        """Note when the Lease was seen to be renewed."""
        before = self._renewals.get(product)
        self._renewals[product] = spec.renew_time
        if not spec.holder_identity or before == spec.renew_time:
            return
        renewed_at = timestamp_or_zero(spec.renew_time)
        if before is not None or self._clock() - renewed_at < RENEWED_SECONDS:
            self._seen_at[product] = self._monotonic()

    def _runs(self, product: Product) -> bool:
        seen_at = self._seen_at.get(product)
        if seen_at is None:
            return False
        return self._monotonic() - seen_at < RENEWED_SECONDS + PATIENCE_SECONDS
