"""Pages of docs/ that are made of tables of the package.

| module       | page            |
|--------------|-----------------|
| metrics_page | docs/metrics.md |
| reasons_page | docs/reasons.md |
"""

from pathlib import Path
from typing import Final

from tools.pages import metrics_page, reasons_page

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGES: Final = {
    DOCS / "metrics.md": metrics_page.text,
    DOCS / "reasons.md": reasons_page.text,
}
