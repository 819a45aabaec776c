"""The docs site: where its links lead, and what its pages load."""

from types import SimpleNamespace
from typing import Any

import pytest

from tools.site import hooks
from tools.site.__main__ import loaded


def rewritten(markdown: str, page: str = "gangs.md", repository: str | None = None) -> str:
    here: Any = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    files: Any = None
    return hooks.on_page_markdown(markdown, here, SimpleNamespace(repo_url=repository), files)


@pytest.mark.parametrize(
    ("page", "written", "there"),
    [
        ("gangs.md", "queues.md#figures", "queues.md#figures"),
        ("gangs.md", "#roles", "#roles"),
        ("gangs.md", "https://example.com/a.md", "https://example.com/a.md"),
        ("gangs.md", "../examples/01-gang", "examples/01-gang.md"),
        ("gangs.md", "../CHANGELOG.md", "changelog.md"),
        ("kinds/spark.md", "../gangs.md", "../gangs.md"),
        ("kinds/spark.md", "../../examples/30-roles/README.md", "../examples/30-roles.md"),
        ("examples/28-give-back.md", "../22-two-teams/README.md", "22-two-teams.md"),
        ("examples/28-give-back.md", "../../docs/queues.md", "../queues.md"),
        ("index.md", "docs/gangs.md", "gangs.md"),
        ("chart.md", "../../docs/operations.md#rights", "operations.md#rights"),
    ],
)
def test_a_link_leads_to_the_page_of_the_site(page: str, written: str, there: str) -> None:
    assert f"see [it]({there})." == rewritten(f"see [it]({written}).", page)


def test_a_picture_is_shown_from_where_it_is_on_the_site() -> None:
    assert "![it](images/drain.svg)" == rewritten("![it](docs/images/drain.svg)", "index.md")
    assert "![it](images/drain.svg)" == rewritten("![it](images/drain.svg)", "speed.md")


def test_a_link_to_a_file_without_a_page_needs_a_repository() -> None:
    assert "see the CRDs." == rewritten("see [the CRDs](../crds).")
    assert "see [the CRDs](https://git.example/blob/main/crds)." == rewritten(
        "see [the CRDs](../crds).", repository="https://git.example/"
    )


@pytest.mark.parametrize(
    "element",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<link href="https://fonts.example" rel="preconnect">',
        '<img alt="" src="https://badge.example/a.svg">',
    ],
)
def test_what_a_page_loads_from_another_host_is_found(element: str) -> None:
    assert 1 == len([*loaded(f"<p>{element}</p>")])


@pytest.mark.parametrize(
    "element",
    ['<a href="https://example.com">x</a>', '<script src="assets/x.js"></script>'],
)
def test_links_and_own_files_are_not_loaded_from_elsewhere(element: str) -> None:
    assert [] == [*loaded(element)]
