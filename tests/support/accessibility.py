"""What keeps readers from a screen: names, headings, landmarks, contrast, sizes and focus.

These are the rules of WCAG 2.2 AA that a program can judge, for the markup that the page uses; and
those of axe, which judges any markup.
"""

import functools
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from support.chromium import Tab

NAMED: Final = frozenset(
    {"link", "button", "textbox", "searchbox", "combobox", "image", "application", "navigation"}
)
"""Roles that say nothing without a name."""
_OF_DOCUMENT: Final = Path(__file__).with_suffix(".js").read_text()
_FOCUSED: Final = r"""
(() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  const all = [...document.querySelectorAll("*")];
  const style = getComputedStyle(each);
  const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [all.indexOf(each), shown, each.outerHTML.replace(/\s+/g, " ").slice(0, 90)];
})()
"""
_FOCUSABLE: Final = (
    "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea,"
    ' [tabindex="0"]\')].filter((each) => each.checkVisibility()).length'
)
_RUN: Final = """
axe.run(document, %s).then(({violations}) => violations.flatMap(
  ({id, help, nodes}) => nodes.map((each) => `${id}: ${help}: ${each.html.slice(0, 120)}`)))
"""
OF_COLOURS: Final = ("color-contrast",)
"""The rules of axe whose findings depend on colours."""


@functools.cache
def axe() -> str:
    """Return the script of axe, from the package that the lock file pins."""
    found = importlib.util.find_spec("axe_playwright_python")
    assert found is not None, "axe is not installed: make setup"
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0], "axe.min.js").read_text()


async def violations_of(tab: Tab, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe says against the screen that is shown, by all its rules or by some."""
    if not await tab.value("Boolean(window.axe)"):
        await tab.value(f"{axe()}; true")
    options = {"resultTypes": ["violations"], **({"runOnly": [*rules]} if rules else {})}
    found: list[str] = await tab.value(_RUN % json.dumps(options))
    return found


async def faults_of(tab: Tab) -> list[str]:
    """Return what is wrong with the screen that is shown."""
    found: list[str] = await tab.value(_OF_DOCUMENT)
    return [*found, *await _without_names(tab)]


async def _without_names(tab: Tab) -> list[str]:
    """Return the controls and pictures for which a screen reader would say nothing."""
    tree: dict[str, Any] = await tab.ask("Accessibility.getFullAXTree")
    found = []
    for each in tree["nodes"]:
        role = each.get("role", {}).get("value", "")
        name = each.get("name", {}).get("value", "")
        if role in NAMED and not each.get("ignored") and not name.strip():
            found.append(f"{role} without a name")
    return found


async def faults_of_focus(tab: Tab) -> list[str]:
    """Return what is wrong when Tab goes through the whole screen once."""
    number = await tab.value(_FOCUSABLE)
    found, before, walked = [], -1, 0
    await tab.value("document.activeElement.blur(); scrollTo(0, 0); true")
    for _ in range(number):
        await tab.press("Tab")
        focused = await tab.value(_FOCUSED)
        if focused is None:
            break
        place, is_shown, text = focused
        walked += 1
        if place <= before:
            found.append(f"the focus goes back to {text}")
            break
        if not is_shown:
            found.append(f"the focus is not seen: {text}")
        before = place
    if walked != number:
        found.append(f"Tab reaches {walked} of {number} controls")
    return found
