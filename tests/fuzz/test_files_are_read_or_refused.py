"""Law: whatever is in a file, or in the environment, the commands answer or say what is wrong.

Of manifests, snapshots and settings. What is wrong stands in one line each, without a traceback.
"""

import contextlib
import gzip
import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_settings import SettingsError

from fuzz import corpora, damage
from gang_scheduler.cli import main
from gang_scheduler.settings.run import Settings
from gang_scheduler.simulation import documents
from gang_scheduler.simulation.documents import Problem
from gang_scheduler.simulation.snapshot_files import API_VERSION, KIND, LIVE
from property.mutants import written
from support.thoroughness import cases

HEADER = {
    "kind": KIND,
    "apiVersion": API_VERSION,
    "version": "0.1.0",
    "takenAt": "2024-01-01T00:00:00Z",
    "source": LIVE,
    "profile": {"schedulerNames": ["py-gang-scheduler"]},
    "counts": {"pods": 1},
}
FEW = cases(20, thorough=400)
COMMANDS = (["simulate"], ["list"], ["queues"], ["cluster"], ["explain", "default/g"])
ENVIRONMENT = sorted(f"PGS_{name.upper()}" for name in Settings.model_fields)


def bodies() -> st.SearchStrategy[Any]:
    """Return objects of any kinds, some of them damaged."""
    every = [each for found in corpora.by_kind().values() for each in found]
    return st.sampled_from(every).flatmap(lambda one: st.just(one) | damage.damaged(one))


@st.composite
def manifests(draw: st.DrawFn) -> bytes:
    """Return documents of a file, as JSON, with what may stand between them."""
    found = draw(st.lists(bodies(), min_size=1, max_size=4))
    between = draw(st.sampled_from(["\n---\n", "\n", "\n--- #\n...\n", "\n%\n"]))
    return between.join(map(written, found)).encode("utf-8", "surrogatepass")


@st.composite
def snapshots(draw: st.DrawFn) -> bytes:
    """Return a snapshot of which header, lines and bytes may be damaged."""
    header = draw(st.just(HEADER) | damage.damaged(HEADER))
    lines = [header, *draw(st.lists(bodies(), max_size=4))]
    raw = "\n".join(map(written, lines)).encode("utf-8", "surrogatepass")
    if draw(st.booleans()):
        raw = gzip.compress(raw, mtime=0)
    begin = draw(st.integers(0, len(raw)))
    return draw(
        st.sampled_from([raw, raw, raw[:begin], raw[:begin] + b"\xff\x00" + raw[begin + 1 :]])
    )


def garbage() -> st.SearchStrategy[bytes]:
    """Return bytes that are no manifests."""
    texts = damage.texts().map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.binary(max_size=40) | texts | st.just(b"a: &a [*a]") | st.just(b"\x1f\x8b\x08")


@pytest.mark.parametrize("kind", ["manifests", "snapshots", "garbage"])
@given(data=st.data())
@settings(max_examples=FEW)
def test_files_are_read_or_refused(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = data.draw({"manifests": manifests, "snapshots": snapshots, "garbage": garbage}[kind]())
    name = "f.jsonl.gz" if kind == "snapshots" else "f.yaml"
    file = tmp_path_factory.getbasetemp() / name
    file.write_bytes(raw)

    for each in documents.read([str(file)]):
        if isinstance(each, Problem):
            assert "\n" not in each.text
            assert len(each.text) < 4000
    answers(file, data.draw(st.sampled_from(COMMANDS)))


def answers(file: Path, command: list[str]) -> None:
    """Run a command on a file; its own errors have a status, and any other comes out of here."""
    result = CliRunner().invoke(main, [*command, "-f", str(file)], catch_exceptions=False)

    assert result.exit_code in {0, 1, 2, 3, 4}
    assert "Traceback" not in result.output


@given(
    found=st.dictionaries(
        st.sampled_from(ENVIRONMENT),
        damage.texts().filter(lambda text: "\0" not in text and text.isprintable()),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=FEW)
def test_settings_of_the_environment_are_read_or_refused(found: dict[str, str]) -> None:
    with mock.patch.dict(os.environ, found), contextlib.suppress(ValidationError, SettingsError):
        assert isinstance(Settings(), Settings)


@pytest.mark.parametrize("depth", [300, 3000, 100_000])
def test_a_header_that_is_nested_deeply_is_refused(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    head = json.dumps(HEADER).replace(
        '{"schedulerNames": ["py-gang-scheduler"]}', f'{{"x":{deep}}}'
    )
    file = tmp_path / "f.jsonl"
    file.write_text(head)

    answers(file, ["list"])
