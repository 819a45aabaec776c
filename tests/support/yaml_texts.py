"""YAML of tests, read and written by libyaml: in Python alone it takes ten times as long."""

from collections.abc import Iterable
from typing import Any

import yaml


def read(text: str) -> Any:
    """Return the one document of a text."""
    return yaml.load(text, yaml.CSafeLoader)


def read_all(text: str) -> list[Any]:
    """Return the documents of a text."""
    return list(yaml.load_all(text, yaml.CSafeLoader))


def written(body: Any) -> str:
    """Return a document as text, its keys as they come."""
    return written_all([body])


def written_all(bodies: Iterable[Any]) -> str:
    """Return documents as text, their keys as they come."""
    return yaml.dump_all(bodies, Dumper=yaml.CSafeDumper, sort_keys=False)
