"""The output of the demo: headings, pictures of nodes, and progress, with colours on terminals.

Every line fits into 80 columns.
"""

import contextlib
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

WIDTH: Final = 80
PATIENCE_SECONDS: Final = 2.0
"""A step that takes longer prints that it is waiting."""
COLOURS: Final = ("cyan", "yellow", "magenta", "green", "blue", "bright_red", "bright_cyan")
FREE: Final = "."
A_ROW: Final = 4

Nodes = Mapping[str, Sequence[str]]
"""The gang that uses each GPU, by node: as many entries as there are GPUs in use."""


class Screen:
    """The output of the demo on one console."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        if not self._console.is_terminal:
            self._console = console or Console(highlight=False, width=WIDTH)
        self._began = time.monotonic()
        self._letters: dict[str, str] = {}

    def heading(self, text: str) -> None:
        """Begin a scene."""
        self._console.print()
        self._console.rule(f"[bold]{text}", align="left", characters="-")

    def say(self, text: str, style: str = "") -> None:
        """Print a text on a line of its own."""
        self._console.print(text, style=style, markup=False)

    def address(self, what: str, address: str) -> None:
        """Print an address on one line, however long it is: so it can be opened by a click."""
        self._console.print(f"{what}: {address}", markup=False, soft_wrap=True)

    def quote(self, text: str) -> None:
        """Print a message of the scheduler, in as many lines as it takes."""
        margin = "  "
        lines = textwrap.fill(
            *(text, WIDTH),
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
        )
        self.say(lines, "yellow")

    def done(self, text: str) -> None:
        """Print that a step has succeeded."""
        self.say(f"  {text}", "green")

    def command(self, line: str, output: str) -> None:
        """Print a command and its output; lines that are too long are wrapped."""
        self._console.print(f"$ {line}", style="bold", markup=False)
        for each in output.rstrip().splitlines():
            lines = textwrap.wrap(each, WIDTH, break_on_hyphens=False)
            self._console.out("\n".join(lines), highlight=False)

    @property
    def seconds(self) -> float:
        """The seconds since the demo began."""
        return time.monotonic() - self._began

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show progress while the block runs."""
        if self._console.is_terminal:
            with self._console.status(f"{what} ..."):
                yield
            return
        over = threading.Event()
        teller = threading.Thread(target=self._tell, args=(what, over), daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()

    def nodes(self, nodes: Nodes) -> None:
        """Draw the nodes, with a letter of its gang for each GPU in use, and a key."""
        names = sorted(nodes)
        for first in range(0, len(names), A_ROW):
            line = Text("  ")
            for name in names[first : first + A_ROW]:
                line.append(f"{name.rpartition('-')[2]} ", "dim")
                for gang in nodes[name]:
                    line.append(*self._letter(gang) if gang else (FREE, "dim"))
                line.append("   ")
            self._console.print(line)
        shown = dict.fromkeys(gang for each in nodes.values() for gang in each if gang)
        legend = Text("  ")
        for gang in shown:
            letter, colour = self._letter(gang)
            legend.append(letter, colour)
            legend.append(f" {gang}   ")
        legend.append(f"{FREE} free GPU", "dim")
        self._console.print(legend)

    def _letter(self, gang: str) -> tuple[str, str]:
        """Return a letter for a gang, different from those of other gangs, and its colour."""
        if gang not in self._letters:
            wanted = (*gang.upper(), *"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            free = (each for each in wanted if each.isalpha() and each not in self._taken())
            self._letters[gang] = next(free, "#")
        number = list(self._letters).index(gang)
        return self._letters[gang], COLOURS[number % len(COLOURS)]

    def _taken(self) -> set[str]:
        return set(self._letters.values())

    def _tell(self, what: str, over: threading.Event) -> None:
        seconds = 0.0
        while not over.wait(PATIENCE_SECONDS):
            seconds += PATIENCE_SECONDS
            self.say(f"  still {what}: {seconds:.0f} s", "dim")
