"""The package as syntax trees, each of which is made once for all that looks at it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
OPERATOR: Final = PROJECT / "operator"
PACKAGE, AUDITOR = OPERATOR / "gang_scheduler", OPERATOR / "gang_auditor"


@cache
def of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file."""
    return tuple(ast.walk(of(path)))


def modules(folder: str = "") -> Iterator[Path]:
    """Yield the modules of both packages, or of one folder of the scheduler, in order."""
    yield from sorted((PACKAGE / folder).rglob("*.py"))
    if not folder:
        yield from sorted(AUDITOR.rglob("*.py"))


def place(path: Path) -> Path:
    """Return where a module is: below the scheduler's package, or with the auditor's in front."""
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else OPERATOR)


def module_at(place: Path | str) -> Path:
    """Return the path of a file or folder that is at a `place`."""
    return (OPERATOR if Path(place).parts[:1] == (AUDITOR.name,) else PACKAGE) / place
