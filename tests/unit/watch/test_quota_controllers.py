"""Whether other products decide quota, by their Leases."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api
from gang_scheduler.decode.queues import kueue
from gang_scheduler.model.api_words import QuotaOf
from gang_scheduler.model.queues import Product
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules, Rules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.quota_controllers import LeaseName, QuotaControllers
from support.builders import SCHEDULER

NOW = 1_700_000_000


class Leases:
    """Answers for one Lease; `spec` is None where there is none."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] | None = None
        self.status = 0
        self.asked: list[LeaseName] = []

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        """Return the Lease, whatever it is called."""
        self.asked.append(LeaseName(namespace, name))
        if self.status or self.spec is None:
            raise ApiError(self.status or 404, "no such Lease")
        return {"metadata": {"uid": "u"}, "spec": self.spec}


class Watch:
    """A cluster with a ClusterQueue, and the Lease of Kueue. `at` is in seconds from NOW."""

    def __init__(self, rules: QueueRules = NO_SETTINGS.queues, *, queue: bool = True) -> None:
        self.at = 0.0
        self.told: list[Product] = []
        self.not_served = ["localqueues.kueue.x-k8s.io", "queues.scheduling.volcano.sh"]
        self.leases = Leases()
        self.changes = Changes()
        self.cache = Cache([SCHEDULER], self.changes, Rules(queues=rules))
        if queue:
            body = {"metadata": {"name": "q", "uid": "u"}}
            self.cache.queues.upsert(kueue.cluster_queue(body))
        self.controllers = QuotaControllers(
            cast("Api", self.leases),
            self.cache,
            {Product.KUEUE: "kueue-system", Product.VOLCANO: "volcano-system"},
            lambda product, *_: self.told.append(product),
            not_served=lambda: self.not_served,
            clock=lambda: NOW + self.at,
            monotonic=lambda: self.at,
        )

    def renewed(self, seconds: int, holder: str = "kueue-0") -> None:
        """Let the Lease be renewed at this time."""
        self.leases.spec = {"holderIdentity": holder, "renewTime": stamp(seconds)}

    async def enforced(self, at: float = 0.0) -> bool:
        """Look at this time; return whether the quota of the ClusterQueue is enforced."""
        self.at = at
        await self.controllers.look()
        found = self.cache.queues.queue_set()
        assert found is not None
        return Product.KUEUE in found.enforced


def stamp(seconds: int) -> str:
    moment = datetime.fromtimestamp(NOW + seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def test_without_a_queue_of_a_product_no_lease_is_looked_at() -> None:
    watch = Watch(queue=False)
    await watch.controllers.look()
    assert [] == watch.leases.asked

    await Watch().enforced()
    watch = Watch()
    await watch.enforced()
    assert [LeaseName("kueue-system", "c1f6bfd2.kueue.x-k8s.io")] == watch.leases.asked


async def test_the_lease_of_a_product_is_looked_at_before_its_names_count() -> None:
    watch = Watch(queue=False)
    watch.not_served = ["queues.scheduling.volcano.sh"]
    watch.renewed(-5)
    await watch.controllers.look()
    queues = watch.cache.queues

    assert {Product.OURS, Product.KUEUE} == queues.served
    assert {Product.OURS, Product.VOLCANO} == queues.enforced


async def test_without_its_kinds_the_names_of_a_product_count_no_more() -> None:
    watch = Watch(queue=False)
    watch.not_served = []
    await watch.controllers.look()
    before = watch.cache.queues.served
    watch.not_served = ["localqueues.kueue.x-k8s.io", "queues.scheduling.volcano.sh"]
    watch.changes.cycle.clear()
    await watch.controllers.look()

    assert set(Product) == before
    assert {Product.OURS} == watch.cache.queues.served
    assert watch.changes.cycle.is_set()


async def test_a_renewed_lease_decides_and_is_reported_once() -> None:
    watch = Watch()
    watch.renewed(-5)

    assert not await watch.enforced()
    watch.renewed(5)
    assert not await watch.enforced(10)
    assert [Product.KUEUE] == watch.told
    assert watch.changes.cycle.is_set()


@pytest.mark.parametrize(("seconds", "holder"), [(-61, "kueue-0"), (-5, "")])
async def test_a_lease_that_is_old_or_given_up_decides_nothing(seconds: int, holder: str) -> None:
    watch = Watch()
    watch.renewed(seconds, holder)

    assert await watch.enforced()
    assert [] == watch.told


async def test_an_expired_lease_is_given_another_minute() -> None:
    watch = Watch()
    watch.renewed(0)

    assert not await watch.enforced()
    assert not await watch.enforced(119)
    assert await watch.enforced(120)
    watch.renewed(121)
    assert not await watch.enforced(122)
    assert [Product.KUEUE] * 2 == watch.told


async def test_a_clock_that_is_wrong_misleads_the_first_look_alone() -> None:
    watch = Watch()
    watch.renewed(-1000)
    assert await watch.enforced()

    watch.renewed(-990)
    assert not await watch.enforced(10)


async def test_what_cannot_be_read_stays_as_it_was_until_it_expires() -> None:
    watch = Watch()
    watch.renewed(0)
    assert not await watch.enforced()

    watch.leases.status = 500
    assert not await watch.enforced(60)
    assert await watch.enforced(130)


@pytest.mark.parametrize("quota", [QuotaOf.ENFORCE, QuotaOf.IGNORE])
async def test_a_setting_makes_the_lease_irrelevant(quota: QuotaOf) -> None:
    watch = Watch(QueueRules(kueue=quota, volcano=quota))
    watch.renewed(0)

    assert (quota is QuotaOf.ENFORCE) == await watch.enforced()
    assert [] == watch.leases.asked
