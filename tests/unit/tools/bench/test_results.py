"""What was measured survives the file that it is written to."""

from pathlib import Path

import msgspec
import pytest

from support.bench_results import SETTING, result
from tools.bench import results
from tools.bench.results import thinned
from tools.bench.shape import Shape


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    measured = result(
        shape=Shape(1, 3, rule="rack", rate=300),
        p99=12.0,
        requests_a_pod=None,
        problems=("gang 0 is split",),
    )
    path = tmp_path / "build" / "some.json"

    results.write(path, SETTING, [measured])

    assert results.Results(SETTING, (measured,)) == results.read(path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text('[{"contestant": "ceiling"}]')

    with pytest.raises(msgspec.ValidationError):
        results.read(path)


def test_a_long_curve_keeps_its_ends_and_even_steps() -> None:
    bound_at = [100.0 + pod for pod in range(11)]

    assert ((1.0, 1), (6.0, 6), (11.0, 11)) == thinned(bound_at, 99.0, most=3)


@pytest.mark.parametrize("pods", [0, 1, 2, 120])
def test_a_short_curve_keeps_every_pod(pods: int) -> None:
    bound_at = [float(pod) for pod in range(pods)]

    assert tuple((at, pod + 1) for pod, at in enumerate(bound_at)) == thinned(bound_at, 0.0)
