"""docs/images/architecture.svg: how an object reaches the scheduler, and a decision the cluster."""

from collections.abc import Iterator
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

WIDTH: Final = 900
HEIGHT: Final = 430
BOX: Final = (150, 58)
STYLE: Final = """
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1c2733; text-anchor: middle }
  .name { font-weight: 600 }
  .note { font-size: 11px; fill: #51606f }
  rect { fill: #ffffff; stroke: #8493a3; rx: 6px }
  .pure { fill: #e6f0ff; stroke: #3f6fb5 }
  .outside { fill: #f1f3f5; stroke: #8493a3; stroke-dasharray: 4 3 }
  path { fill: none; stroke: #51606f; stroke-width: 1.5px; marker-end: url(#tip) }
"""


class Box(NamedTuple):
    """A package, or what is outside: `left` and `top` in pixels."""

    name: str
    note: str
    left: int
    top: int
    look: str = ""


BOXES: Final = {
    box.name: box
    for box in (
        Box("API server", "all state is here", 30, 170, "outside"),
        Box("watch", "Kopf or the reflector", 230, 60),
        Box("decode", "objects become gangs", 420, 60, "pure"),
        Box("state", "what is known now", 610, 60),
        Box("scheduler", "a snapshot in, a plan out", 720, 170, "pure"),
        Box("apply", "binds and evicts", 610, 280),
        Box("report", "statuses, Events", 420, 280),
        Box("client", "retries, the Lease", 230, 280),
    )
}
ARROWS: Final = (
    "M 105 170 V 89 H 228",
    "M 380 89 H 418",
    "M 570 89 H 608",
    "M 760 89 H 795 V 168",
    "M 795 228 V 309 H 762",
    "M 610 309 H 572",
    "M 420 309 H 382",
    "M 230 309 H 105 V 230",
    "M 685 280 V 120",
)
LABELS: Final = (
    ("changes", 165, 82),
    ("snapshot", 836, 145),
    ("plan", 816, 262),
    ("assumed at once", 628, 205),
    ("bindings, evictions", 165, 326),
)
LEGEND: Final = "Blue: pure functions, without clock, network or random numbers"


def text() -> str:
    """Return the picture as it should be."""
    marker = (
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><polygon points="0,0 8,4 0,8" fill="#51606f"/></marker>'
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>The way of an object through the scheduler, and of a decision back</title>",
        f"<style>{STYLE}</style><defs>{marker}</defs>",
        f'<rect x="0" y="0" width="{WIDTH}" height="{HEIGHT}" style="stroke: none"/>',
        *(f'<path d="{each}"/>' for each in ARROWS),
        *(line for box in BOXES.values() for line in _box(box)),
        *(f'<text class="note" x="{x}" y="{y}">{escape(said)}</text>' for said, x, y in LABELS),
        f'<text class="note" x="{WIDTH // 2}" y="{HEIGHT - 30}">{escape(LEGEND)}</text>',
        "</svg>\n",
    ]
    return "\n".join(parts)


def _box(box: Box) -> Iterator[str]:
    width, height = BOX
    middle = box.left + width // 2
    look = f' class="{box.look}"' if box.look else ""
    yield f'<rect{look} x="{box.left}" y="{box.top}" width="{width}" height="{height}"/>'
    yield f'<text class="name" x="{middle}" y="{box.top + 25}">{escape(box.name)}</text>'
    yield f'<text class="note" x="{middle}" y="{box.top + 43}">{escape(box.note)}</text>'
