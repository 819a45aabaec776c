"""Builds the parts that depend on settings, by the same code for `run` and for `simulate`.

Where settings are read: `settings.run` and `settings.policy`.
"""

import functools
from dataclasses import replace
from typing import Any, Final

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model.api_words import QuotaOf
from gang_scheduler.model.queues import Product
from gang_scheduler.scheduler.devices.source_amounts import SourceAmounts
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.gang_queue import MOST_CHECKPOINTS
from gang_scheduler.workloads import table


def cache(policy: Policy, changes: Changes, *, most_checkpoints: int = MOST_CHECKPOINTS) -> Cache:
    """Return an empty cache."""
    rules = policy.rules
    return Cache(
        *(rules.gangs.scheduler_names, changes, rules),
        most_checkpoints=most_checkpoints,
        of_devices=SourceAmounts(rules.queues.device_class_mappings),
    )


@functools.lru_cache(maxsize=8)
def profile(policy: Policy) -> Profile:
    """Return the filters, preferences and order, with the settings.

    Equal settings have the same profile: what a cycle keeps for the next one may depend on it.
    """
    rules = policy.rules
    return replace(PROFILES[rules.gangs.strategy], rules=rules)


def membership(policy: Policy) -> Membership:
    """Return the rules that find the gang of a pod."""
    return table.membership(policy.rules.gangs.gang_kinds)


def naming(policy: Policy) -> Naming:
    """Return how messages name preemptors and victims of other namespaces."""
    return Naming(policy.rules.preemption.hide_foreign_names)


_QUOTA_OF: Final = {Product.KUEUE: "kueue", Product.VOLCANO: "volcano"}
"""The settings that say whether quota of a product is enforced."""


def written_settings(policy: Policy, cache: Cache) -> dict[str, Any]:
    """Return the settings as files have them; quota that others enforce is set to `ignore`."""
    found = policy.model_dump(mode="json", include=set(Policy.model_fields))
    for product, setting in _QUOTA_OF.items():
        if product not in cache.queues.enforced:
            found[setting] = QuotaOf.IGNORE.value
    return found
