"""What people read of the results."""

from pathlib import Path

from support.bench_results import SETTING, result
from tools.bench import charts, tables
from tools.bench.report import text_of
from tools.bench.results import Results
from tools.bench.shape import Shape


def test_contestants_are_rows_in_the_order_of_their_list_and_shapes_are_columns() -> None:
    other = Shape(20, 250, 5000)
    found = [
        result("kube-scheduler, native gangs", other, pods_per_second=310.0),
        result("ceiling"),
    ]

    assert [
        "|  | 20 x 250, 5,000 nodes | 250 x 20 |",
        "| --- | ---: | ---: |",
        "| ceiling |  | 1,250 (0.24) |",
        "| kube-scheduler, native gangs | 310 (0.24) |  |",
    ] == tables.combined(found).splitlines()


def test_a_cell_has_what_there_is_to_compare_on_its_shape() -> None:
    live = result("ceiling", Shape(rate=300), p99=9.4)
    alone = result("ceiling", Shape(1, 5000), seconds_to_last=98.04)
    unfinished = result("ceiling", Shape(rule="rack"), bound=4321)

    assert [
        "|  | 250 x 20, live at 300/s | 1 x 5,000 | 250 x 20, rack |",
        "| --- | ---: | ---: | ---: |",
        "| ceiling | 1,250 (9 ms; 0.24) | 1,250 (98.0 s; 0.24) | 1,250 (only 4,321 bound; 0.24) |",
    ] == tables.combined([live, alone, unfinished]).splitlines()


def test_the_table_of_a_shape_leaves_out_what_was_not_measured_on_it() -> None:
    table = tables.one_by_one([result("ceiling", requests_a_pod=None)])

    title, _, names, _, cells = table.splitlines()
    assert "**250 x 20 on 1000, drain**" == title
    assert [
        *("", "bound", "pods/s", "s to the last"),
        *("CPU ms/pod", "API server ms/pod", "etcd ms/pod", "peak MB"),
    ] == [name.strip() for name in names.strip("|").split("|")]
    assert "| ceiling | 5,000 | 1,250 | 4.0 | 0.24 | 0.90 | 0.20 | 45 |" == cells


def test_of_several_files_the_last_counts_and_what_is_wrong_is_said() -> None:
    first = Results(SETTING, (result("ceiling", pods_per_second=1.0),))
    last = Results(SETTING, (result("ceiling", problems=("gang 0 is split",)),))

    text = list(text_of([first, last]))

    assert (
        "2 cores of a processor; Kubernetes 1.37.1, Python 3.11.7, Kopf 1.45.2; 2026-11-21.\n"
    ) == text[0]
    assert "\nWrong in the end: ceiling, 250 x 20 on 1000, drain: gang 0 is split" == text[-1]
    assert "1,250 (0.24)" in "".join(text)
    assert "| 1 (0.24)" not in "".join(text)


def test_pictures_are_the_same_for_the_same_results_and_their_text_is_text(tmp_path: Path) -> None:
    found = [result("ceiling"), result("somebody else"), result("ceiling", Shape(1, 5000))]

    once = charts.draw(found, tmp_path / "once")
    again = charts.draw(found, tmp_path / "again")

    assert ["drain.svg", "one-gang.svg", "rates.svg"] == [path.name for path in once]
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]
    assert ">somebody else</text>" in once[0].read_text()


def test_there_is_no_picture_of_what_was_not_measured(tmp_path: Path) -> None:
    found = [result("ceiling", Shape(20, 250))]

    assert [tmp_path / "rates.svg"] == charts.draw(found, tmp_path)
