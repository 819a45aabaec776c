"""Documents know where they come from."""

from pathlib import Path

from gang_scheduler.simulation import documents
from gang_scheduler.simulation.documents import Document, Problem


def test_a_directory_is_its_manifests_in_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "c.yml", "notes.txt"):
        (tmp_path / name).write_text('{"kind": "Pod"}')
    (tmp_path / "deeper").mkdir()

    found = [each.file for each in documents.read([str(tmp_path)]) if isinstance(each, Document)]

    assert [str(tmp_path / name) for name in ("a.json", "b.yaml", "c.yml")] == found


def test_directories_inside_of_directories_are_read_on_demand(tmp_path: Path) -> None:
    deeper = tmp_path / "b" / "c"
    deeper.mkdir(parents=True)
    for file in (tmp_path / "z.yaml", deeper / "a.yaml"):
        file.write_text("kind: Pod")

    read = (documents.read([str(tmp_path)], recursive=each) for each in (False, True))
    files = [
        [Path(each.file).name for each in found if isinstance(each, Document)] for found in read
    ]

    assert [["z.yaml"], ["a.yaml", "z.yaml"]] == files


def test_a_directory_of_directories_alone_asks_for_recursion(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()

    ends = "has no file that ends in .json, .jsonl, .jsonl.gz, .yaml, .yml"
    said = f"{ends}; -R reads the directories in it, too"
    assert [Problem(f"{tmp_path}: {said}")] == list(documents.read([str(tmp_path)]))


def test_a_document_has_its_number_in_the_file() -> None:
    found = list(documents.parse("f", "# none\n---\nkind: Pod\n---\n---\nkind: Node\n"))

    assert [Document("f", 1, {"kind": "Pod"}), Document("f", 3, {"kind": "Node"})] == found


def test_the_items_of_a_list_say_where_they_stand() -> None:
    found = list(documents.parse("f", "kind: List\nitems: [{kind: List, items: [{kind: Pod}]}]"))

    assert [Document("f", 1, {"kind": "Pod"}, "items[0].items[0]")] == found


def test_what_cannot_be_read_is_a_problem_with_a_place(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff")
    (tmp_path / "empty").mkdir()
    names = [str(tmp_path / name) for name in ("binary.yaml", "empty", "missing")]

    expected = [
        Problem(f"{names[0]}: is not UTF-8 text: invalid start byte at byte 0"),
        Problem(f"{names[1]}: has no file that ends in .json, .jsonl, .jsonl.gz, .yaml, .yml"),
        Problem(f"{names[2]}: cannot be read: No such file or directory"),
        Problem('"": cannot be read: No such file or directory'),
    ]
    assert expected == list(documents.read([*names, ""]))


def test_a_broken_document_has_a_number() -> None:
    found = list(documents.parse("f", "kind: Pod\n---\na: ["))

    text = "f: document 2: is neither YAML nor JSON: line 4, column 1: "
    assert Problem(f"{text}did not find expected node content") == found[1]


def test_a_list_must_be_spelt_and_filled_right() -> None:
    found = list(documents.parse("f", "kind: list\n---\nkind: List\nitems: 3\n---\nhello"))

    expected = [
        Problem('f: document 1: kind must be List, not "list"'),
        Problem("f: document 2: items must be a list, not 3"),
        Problem('f: document 3: the document must be an object, not "hello"'),
    ]
    assert expected == found
