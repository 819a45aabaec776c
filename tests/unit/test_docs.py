"""README and docs/ against the code: what they name is there, and what they show comes out."""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.model.reasons import Reason
from gang_scheduler.settings.run import Settings
from lint import trees
from tools import pages
from tools.chart.schema import camel
from tools.pages import settings_page

PROJECT = Path(__file__).parents[2]
PATTERNS = ("*.md", "docs/*.md", "docs/kinds/*.md", "charts/*/*.md")
PAGES = sorted(path for pattern in PATTERNS for path in PROJECT.glob(pattern))
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXAMPLES = sorted(PROJECT.glob("examples/*/README.md"))
SHOWN = re.compile(
    r"py-gang-scheduler ((?:simulate|explain|list|queues|cluster)\b.* ?-f examples/.*)"
)
PLACE = re.compile(r"`([a-z_]+(?:/[a-z_0-9]+)+)(?:\.py|/)?`")
LOG_LINE = re.compile(r'\blog\.(debug|info|warning|error)\(\s*"([a-z_]+)"')
OPERATOR = PROJECT / "operator"
MOST_LINES = 150
PRIORITY_CLASS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""


def page(name: str) -> str:
    return (PROJECT / name).read_text()


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings, as Git hosts make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def rows(text: str, heading: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of all tables under a heading, code marks removed."""
    section = re.split(rf"^##? {heading}$", text, flags=re.MULTILINE)[1]
    for line in re.split(r"^## ", section, flags=re.MULTILINE)[0].splitlines():
        if line.startswith("| `"):
            yield [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]


def shown() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield arguments and output of every command that is shown: what is between the dots."""
    for path in (*PAGES, *EXAMPLES):
        for block in re.findall(r"(?:^(?: {4}.*)?\n)+", path.read_text(), re.MULTILINE):
            for match in SHOWN.finditer(block):
                output = re.split(r"^ {4}kubectl", block[match.end() :], flags=re.MULTILINE)[0]
                pieces = re.split(r"^ {4,}\.\.\.$", output, flags=re.MULTILINE)
                yield match[1], tuple(" ".join(each.split()) for each in pieces)


def commands() -> Iterator[tuple[str, str]]:
    """Yield the commands that read files, and their whole output, as pages show them."""
    for path in PAGES:
        for block in re.findall(r"(?:^(?: {4}.*)?\n)+", path.read_text(), re.MULTILINE):
            lines = [line.removeprefix("    ") for line in block.strip("\n").splitlines()]
            if lines and lines[0].startswith("$ py-gang-scheduler ") and " -f " in lines[0]:
                yield lines[0].removeprefix("$ py-gang-scheduler "), "\n".join(lines[1:])


def manifests_after() -> Iterator[tuple[str, str]]:
    """Yield the manifests that the pages on moving over end with."""
    for path in PROJECT.glob("docs/from-*.md"):
        found = re.search(r"^## After\n\n((?: {4}.*\n|\n)+)", path.read_text(), re.MULTILINE)
        if found:
            yield path.name, textwrap.dedent(found[1])


@pytest.mark.parametrize(("name", "text"), [*manifests_after()])
def test_the_job_that_has_moved_over_starts_whole(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "after.yaml"
    file.write_text(text)
    cluster = f"{PROJECT}/examples/clusters/gpu-nodes.yaml"
    arguments = [
        "simulate",
        "--fail-on-unschedulable",
        "-o",
        "json",
        "-f",
        cluster,
        "-f",
        str(file),
    ]
    result = CliRunner().invoke(main, arguments)

    assert 0 == result.exit_code, result.output
    gangs = json.loads(result.stdout)["gangs"]
    assert [name, True] == [name, any(gang["minMember"] > 1 for gang in gangs)]


@pytest.mark.parametrize(("arguments", "output"), [*commands()])
def test_the_output_that_is_shown_of_a_command_comes_out(
    monkeypatch: pytest.MonkeyPatch, arguments: str, output: str
) -> None:
    monkeypatch.chdir(PROJECT)
    result = CliRunner().invoke(main, arguments.split())

    assert output == result.stdout.rstrip("\n")


def test_the_example_of_devices_runs_as_it_stands() -> None:
    text = page("docs/devices.md")
    found = re.search(r"simulate -f - <<'EOF'\n(.*?)\n    EOF\n", text, re.DOTALL)
    assert found is not None
    manifests = textwrap.dedent(found[1])
    table, claims, message = [
        textwrap.dedent(each).strip()
        for each in re.findall(r"(?:^(?: {4}.*)?\n)+", text[found.end() :], re.MULTILINE)
        if each.strip()
    ][:3]

    def simulated(manifests: str, *more: str) -> str:
        arguments = ["simulate", "-f", "-", *more]
        return CliRunner().invoke(main, arguments, input=manifests).stdout

    assert table == simulated(manifests).strip()
    decided = json.loads(simulated(manifests, "-o", "json"))
    assert json.loads(claims) == decided["bindings"][0]["claims"]
    larger = re.sub(r"(completions|parallelism): 2", r"\1: 3", manifests)
    waiting = json.loads(simulated(larger, "-o", "json"))["unschedulable"][0]
    assert waiting["message"].startswith(" ".join(message.split()))
    assert max(map(len, manifests.splitlines())) <= 80


def test_the_readme_is_short() -> None:
    assert len(page("README.md").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    lost = []
    for link in LINK.findall(path.read_text()):
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        if "://" in link:
            continue
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(link)

    assert [] == lost


@pytest.mark.parametrize("name", ["docs/design.md", "docs/glossary.md"])
def test_every_place_in_the_code_is_there(name: str) -> None:
    places = PLACE.findall(page(name))
    found = [trees.module_at(place) for place in places]

    assert places
    assert [] == [
        each for each in found if not each.is_dir() and not each.with_suffix(".py").exists()
    ]


def test_no_row_of_a_table_stands_twice() -> None:
    lines = Counter(
        line
        for path in PAGES
        for line in path.read_text().splitlines()
        # Rows of figures that repeat their first column are no repetition.
        if line.startswith("| ")
        and len(line) > 60
        and not line.startswith(("| term", "| ---", "|  |"))
    )

    assert [] == [line for line, number in lines.items() if number > 1]


def test_all_settings_are_on_their_page_with_their_defaults() -> None:
    text = page("docs/settings.md")
    expected = {
        camel(name): settings_page.default(each.default)
        for name, each in Settings.model_fields.items()
    }

    assert expected == dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE))


def test_what_the_page_of_settings_says_more_of_is_a_setting() -> None:
    assert set() == settings_page.MORE.keys() - set(map(camel, Settings.model_fields))


def test_every_reason_is_in_the_table_of_what_it_asks_for() -> None:
    assert {each.value.lower() for each in Reason} <= anchors(PROJECT / "docs/reasons.md")


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_a_page_that_is_made_from_tables_is_not_stale(path: Path) -> None:
    assert pages.PAGES[path]() == path.read_text()


def test_all_log_lines_are_in_the_table_with_their_levels() -> None:
    written = {
        (name, level)
        for path in OPERATOR.rglob("*.py")
        for level, name in LOG_LINE.findall(path.read_text())
    }
    table = {
        (name, level)
        for names, level, _ in rows(page("docs/logs.md"), "Logs")
        for name in names.split(", ")
    }

    # Two names of one call, by what has failed.
    of_bindings = {("gang_bound_in_part", "warning"), ("claims_not_bound", "warning")}
    assert written | of_bindings == table


@pytest.mark.parametrize(("arguments", "output"), list(shown()))
def test_what_is_shown_of_a_command_comes_out(
    arguments: str, output: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)

    result = CliRunner().invoke(main, arguments.split())

    words, at = " ".join(result.stdout.split()), 0
    assert 0 == result.exit_code
    for piece in output:
        assert piece in words[at:]
        at = words.index(piece, at) + len(piece)


def test_the_job_beside_the_script_of_slurm_is_a_gang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    (block,) = re.findall(
        r"^    apiVersion: batch(?:.*\n)(?: {4}.*\n)+", page("docs/from-slurm.md"), re.MULTILINE
    )
    cluster = page("examples/clusters/gpu-nodes.yaml")
    files = {
        "cluster": cluster.replace("  labels:\n", "  labels:\n    pool: h100\n"),
        "queue": page("examples/21-one-queue/1-queue.yaml"),
        "class": PRIORITY_CLASS,
        "job": re.sub(r"^ {4}", "", block, flags=re.MULTILINE),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)

    result = CliRunner().invoke(main, ["simulate", "-f", str(tmp_path), "--output", "json"])

    bindings = json.loads(result.stdout)["bindings"]
    assert ["default/llama"] * 4 == [each["gang"] for each in bindings]


def test_the_first_gang_of_the_readme_is_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    (block,) = re.findall(r"^    apiVersion:(?:.*\n)(?: {4}.*\n)+", page("README.md"), re.MULTILINE)
    (tmp_path / "gang.yaml").write_text(re.sub(r"^ {4}", "", block, flags=re.MULTILINE))
    files = ("-f", "examples/clusters/gpu-nodes.yaml", "-f", str(tmp_path / "gang.yaml"))

    result = CliRunner().invoke(main, ["simulate", *files, "--output", "json"])

    assert 4 == len(json.loads(result.stdout)["bindings"])
