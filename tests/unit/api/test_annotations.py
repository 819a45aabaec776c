"""The keys are those that Kubernetes accepts, each with one name."""

import re

from gang_scheduler.api import annotations

KEYS = {name: value for name, value in vars(annotations).items() if name.isupper()}
QUALIFIED_NAME = r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


def test_every_key_is_a_qualified_name() -> None:
    assert [] == [key for key in KEYS.values() if not re.fullmatch(QUALIFIED_NAME, key)]


def test_no_key_has_two_names() -> None:
    assert len(KEYS) == len(set(KEYS.values()))
