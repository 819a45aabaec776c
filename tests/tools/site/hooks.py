"""Hooks of mkdocs: pages made of other Markdown files of the project, and links that lead to them.

A link in docs/ is written as Git hosts resolve it. Where it leads out of docs/, the site has a page
of its own (examples, the chart, CHANGELOG), or the address of the file in the repository, or no
link at all if no repository is named: `REPOSITORY_URL=https://... make docs`.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

PROJECT: Final = Path(__file__).parents[3]
LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
FILES: Final = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "vulnerabilities.md",
    "charts/py-gang-scheduler/README.md": "chart.md",
}
"""Files of the project that are pages of the site."""
EXAMPLES: Final = """# Examples

Each example is a directory of manifests that you can apply: `kubectl apply -f examples/NAME`.
Without a cluster, `py-gang-scheduler simulate` shows what would happen. Every example is run in
each build.

| example | shows |
|---|---|
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of files outside docs/."""
    for path, name in FILES.items():
        files.append(_page(config, name, (PROJECT / path).read_text()))
    examples = sorted(PROJECT.glob("examples/*/README.md"))
    rows = []
    for each in examples:
        text = each.read_text()
        name = each.parent.name
        files.append(_page(config, f"examples/{name}.md", text + "".join(_manifests(each.parent))))
        rows.append(f"| [{name}]({name}.md) | {_title(text)} |\n")
    files.append(_page(config, "examples/index.md", EXAMPLES + "".join(rows)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links lead to pages of the site, to the repository, or nowhere."""
    del files
    here = page.file.src_uri
    if here == "examples/index.md":
        return markdown
    origin = _origin(here)

    def resolved(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        found = _on_site(there)
        if found is not None:
            link = posixpath.relpath(found, posixpath.dirname(here) or ".")
            return f"{picture}[{text}]({link}{'#' if anchor else ''}{anchor})"
        if config.repo_url:
            return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{there})"
        return text

    return LINK.sub(resolved, markdown)


def on_config(config: Any) -> Any:
    """Take the address of the repository from the environment, if it is there."""
    config.repo_url = os.environ.get("REPOSITORY_URL") or None
    return config


def _origin(page: str) -> str:
    """Return the file of the project that a page of the site is made of."""
    origins: Mapping[str, str] = {name: path for path, name in FILES.items()}
    if page in origins:
        return origins[page]
    if page.startswith("examples/"):
        return f"{page.removesuffix('.md')}/README.md"
    return f"docs/{page}"


def _on_site(path: str) -> str | None:
    """Return the page of the site that shows a file or directory of the project; None for none."""
    if path in FILES:
        return FILES[path]
    if path == "examples":
        return "examples/index.md"
    found = re.fullmatch(r"examples/(\d[\w-]+)(?:/README\.md)?", path)
    if found:
        return f"examples/{found[1]}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def _page(config: Any, name: str, text: str) -> File:
    return File.generated(config, name, content=text)


def _title(text: str) -> str:
    found = TITLE.search(text)
    return found[1] if found else ""


def _manifests(directory: Path) -> Iterator[str]:
    for each in sorted(directory.glob("*.yaml")):
        yield f"\n## {each.name}\n\n```yaml\n{each.read_text().strip()}\n```\n"
