"""Pages and pictures of docs/ that are made by code."""

from pathlib import Path
from typing import Final

from tools.pages import (
    architecture_picture,
    badges,
    marks_page,
    metrics_page,
    reasons_page,
    settings_page,
)

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGES: Final = {
    DOCS / "images" / "architecture.svg": architecture_picture.text,
    **{DOCS / "images" / name: made for name, made in badges.pictures().items()},
    DOCS / "marks.md": marks_page.text,
    DOCS / "metrics.md": metrics_page.text,
    DOCS / "reasons.md": reasons_page.text,
    DOCS / "settings.md": settings_page.text,
}
