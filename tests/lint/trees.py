"""The package as syntax trees, each of which is made once for all that looks at it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
PACKAGE: Final = PROJECT / "operator" / "gang_scheduler"


@cache
def of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file."""
    return tuple(ast.walk(of(path)))


def modules(folder: str = "") -> Iterator[Path]:
    """Yield the modules of the package, or of a folder of it, in order."""
    yield from sorted((PACKAGE / folder).rglob("*.py"))
