"""The keys are those that Kubernetes accepts, each with one name."""

import re

from gang_scheduler.api import annotations

NAMES = [name for name in vars(annotations) if name.isupper() and not name.endswith("_PREFIX")]
VALUES = {name: getattr(annotations, name) for name in NAMES}
KEYS = {name: value for name, value in VALUES.items() if isinstance(value, str)}
QUALIFIED_NAME = r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


def test_every_key_is_a_qualified_name() -> None:
    assert [] == [key for key in KEYS.values() if not re.fullmatch(QUALIFIED_NAME, key)]


def test_no_key_has_two_names() -> None:
    assert len(KEYS) == len(set(KEYS.values()))


def test_every_key_of_a_podset_has_a_name() -> None:
    assert {key for name, key in KEYS.items() if name.startswith("PODSET_")} == (
        annotations.PODSET_KEYS
    )
