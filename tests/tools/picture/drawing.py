"""Draws the frames of a run as an SVG that moves: nodes by rack, a colour for each gang."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from tools.picture.recording import GPUS, NODES, NODES_IN_A_RACK, Frame

WIDTH: Final = 860
HEIGHT: Final = 330
FREE: Final = "#e3e7ec"
COLOURS: Final = ("#3b6fb6", "#3d9970", "#b8860b", "#b0413e", "#7b5ea7", "#4d8a99")
LAST_SECONDS: Final = 4.0
"""How long the last frame stays before the run begins again."""
STYLE: Final = """
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1c2733 }
  .name { font-weight: 600 }
  .small { font-size: 11px; fill: #51606f }
  .done { font-size: 15px; font-weight: 600 }
  .rack { fill: #f7f8fa; stroke: #c5ccd4; rx: 6px }
  .node { fill: #ffffff; stroke: #c5ccd4; rx: 3px }
"""
GPU: Final = 13
NODE: Final = (94, 42)


def svg(frames: Sequence[Frame]) -> str:
    """Return the picture of a run."""
    drawing = _Drawing(frames)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            "<title>Gangs on 16 nodes with 8 GPUs each, in four racks</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
            *drawing.caption(),
            *drawing.racks(),
            *drawing.gangs(),
            "</svg>\n",
        ]
    )


class _Drawing:
    def __init__(self, frames: Sequence[Frame]) -> None:
        self._frames = frames
        self._end = frames[-1].seconds + LAST_SECONDS
        names = dict.fromkeys(name for frame in frames for name in frame.gangs)
        self._colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}

    def caption(self) -> Iterator[str]:
        """Yield what was done last."""
        yield from self._texts(20, 34, "done", lambda frame: frame.done)

    def racks(self) -> Iterator[str]:
        """Yield the racks, with their nodes and GPUs."""
        width, height = NODE
        for rack in range(NODES // NODES_IN_A_RACK):
            left, top = 20 + (rack % 2) * 214, 54 + (rack // 2) * 132
            yield f'<rect class="rack" x="{left}" y="{top}" width="206" height="124"/>'
            yield f'<text class="small" x="{left + 8}" y="{top + 16}">rack-{rack}</text>'
            for place in range(NODES_IN_A_RACK):
                node = rack * NODES_IN_A_RACK + place
                x = left + 7 + (place % 2) * (width + 4)
                y = top + 24 + (place // 2) * (height + 6)
                yield f'<rect class="node" x="{x}" y="{y}" width="{width}" height="{height}"/>'
                for gpu in range(GPUS):
                    yield self._gpu(f"node-{node}", x, y, gpu)

    def gangs(self) -> Iterator[str]:
        """Yield each gang, with what it says of itself."""
        for number, (name, colour) in enumerate(self._colours.items()):
            top = 66 + number * 62
            shown = self._values(partial(_presence, name))
            yield f'<g opacity="1">{self._animated("opacity", shown)}'
            yield f'<rect x="462" y="{top - 12}" width="14" height="14" rx="3" fill="{colour}"/>'
            yield f'<text class="name" x="484" y="{top}">{escape(name)}</text></g>'
            yield from self._texts(484, top + 18, "small", partial(_said, name))

    def _gpu(self, node: str, x: int, y: int, gpu: int) -> str:
        """Return one GPU of a node: pods here take whole nodes."""

        def colour(frame: Frame) -> str:
            there = sorted(gang for at, gang in frame.pods.values() if at == node)
            return self._colours[there[0]] if there else FREE

        left = x + 10 + (gpu % 4) * (GPU + 6)
        top = y + 5 + (gpu // 4) * (GPU + 6)
        values = self._values(colour)
        return (
            f'<rect x="{left}" y="{top}" width="{GPU}" height="{GPU}" rx="2"'
            f' fill="{values[-1][1]}">{self._animated("fill", values)}</rect>'
        )

    def _texts(self, x: int, y: int, look: str, of: Callable[[Frame], str]) -> Iterator[str]:
        """Yield each text that there is at a place in turn."""
        values = self._values(of)
        for said in dict.fromkeys(text for _, text in values if text):
            seen = [(at, "1" if text == said else "0") for at, text in values]
            for number, line in enumerate(_wrapped(said)):
                yield (
                    f'<text class="{look}" x="{x}" y="{y + 14 * number}" opacity="{seen[-1][1]}">'
                    f"{escape(line)}{self._animated('opacity', seen)}</text>"
                )

    def _values(self, of: Callable[[Frame], str]) -> list[tuple[float, str]]:
        """Return the values over the run, each from when it holds on."""
        found: list[tuple[float, str]] = []
        for frame in self._frames:
            value = of(frame)
            if not found or found[-1][1] != value:
                found.append((frame.seconds if found else 0.0, value))
        return found

    def _animated(self, attribute: str, values: Sequence[tuple[float, str]]) -> str:
        if len(values) < 2:
            return ""
        times = ";".join(f"{at / self._end:.4f}" for at, _ in values)
        return (
            f'<animate attributeName="{attribute}" calcMode="discrete" dur="{self._end:.1f}s"'
            f' repeatCount="indefinite" keyTimes="{times}"'
            f" values={quoteattr(';'.join(value for _, value in values))}/>"
        )


def _presence(name: str, frame: Frame) -> str:
    return "1" if name in frame.gangs else "0.25"


def _said(name: str, frame: Frame) -> str:
    return frame.gangs.get(name, "")


def _wrapped(text: str, width: int = 56) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:3]
