"""One random world: the objects of a small cluster, and the name by which it comes again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import yaml

from search.manifests import Manifest


@dataclass(frozen=True)
class World:
    """Objects as a user would write them into a file. The same seed gives the same ones."""

    seed: int
    documents: tuple[Manifest, ...]

    def of(self, *kinds: str) -> list[Manifest]:
        """Return the objects of these kinds."""
        return [each for each in self.documents if each["kind"] in kinds]

    def without(self, gone: Iterable[Manifest]) -> "World":
        """Return the same world without some of its objects."""
        ids = {id(each) for each in gone}
        return replace(self, documents=tuple(d for d in self.documents if id(d) not in ids))

    def as_yaml(self, *remarks: str) -> str:
        """Return what `simulate -f` reads, with remarks above it."""
        said = "".join(f"# {line}\n" for remark in remarks for line in remark.splitlines())
        return said + yaml.safe_dump_all(self.documents, sort_keys=False, width=100)
