"""What the demo draws, in the columns that there are."""

import io

import pytest
from rich.console import Console

from gang_scheduler.demo import screen
from gang_scheduler.demo.screen import Screen

NODES = {f"gang-demo-{n:02d}": ["llama"] * 4 + [""] * 4 for n in range(6)}


def drawn(nodes: dict[str, list[str]]) -> list[str]:
    text = io.StringIO()
    Screen(Console(file=text, width=screen.WIDTH, highlight=False)).nodes(nodes)
    return text.getvalue().splitlines()


def test_each_gpu_is_a_letter_of_its_gang() -> None:
    first, second, legend = drawn(NODES)

    assert "  00 LLLL....   01 LLLL....   02 LLLL....   03 LLLL....   " == first
    assert "  04 LLLL....   05 LLLL....   " == second
    assert "  L llama   . free GPU" == legend


def test_no_two_gangs_have_the_same_letter() -> None:
    nodes = {"n-0": ["llama", "lion", "liana", "ail", "n"]}

    (line, _) = drawn(nodes)

    letters = line.partition("0 ")[2].strip()
    assert len(set(letters)) == len(letters) == 5


def test_what_is_quoted_keeps_its_margin_and_the_width() -> None:
    text = io.StringIO()
    Screen(Console(file=text, width=screen.WIDTH, highlight=False)).quote("needs " * 40)

    lines = text.getvalue().splitlines()
    assert len(lines) > 1
    assert all(line.startswith("  ") and len(line) <= screen.WIDTH for line in lines)


def test_no_name_is_broken_at_its_hyphens() -> None:
    text = io.StringIO()
    shown = Screen(Console(file=text, width=screen.WIDTH, highlight=False))

    shown.quote("word " * 14 + "gang-demo/mixtral")
    shown.command("list", "word " * 14 + "gang-demo/mixtral")

    assert 2 == text.getvalue().count("gang-demo/mixtral")


def test_what_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(screen, "PATIENCE_SECONDS", 0.01)
    shown = Screen(Console(file=text, width=screen.WIDTH, highlight=False))

    with shown.waiting("doing it"):
        while "still doing it" not in text.getvalue():
            pass


def test_an_address_that_is_longer_than_a_line_stays_whole() -> None:
    text = io.StringIO()
    address = f"http://127.0.0.1:43210/?key={'k' * 60}"
    Screen(Console(file=text, width=screen.WIDTH, highlight=False)).address("the page", address)

    assert address in text.getvalue()
