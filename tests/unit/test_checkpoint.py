"""A training script learns when to save and where to go on, and tells what it has saved."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from gang_scheduler import checkpoint
from gang_scheduler.checkpoint import Checkpoints, Due, Evicted, Resume

MODULE = Path(checkpoint.__file__)


class Container:
    """The files and variables that a kubelet gives to a container."""

    def __init__(self, directory: Path) -> None:
        self.request = directory / "podinfo" / "checkpoint-request-id"
        self.log = directory / "termination-log"
        self.log.touch()
        self.environ = {
            "CHECKPOINT_REQUEST_FILE": str(self.request),
            "CHECKPOINT_TERMINATION_LOG": str(self.log),
        }

    def ask(self, request: str) -> None:
        """Ask by annotation; an empty one withdraws."""
        self.request.parent.mkdir(exist_ok=True)
        self.request.write_text(request)

    def checkpoints(
        self, variables: Mapping[str, str] | None = None, agree: Callable[[int], int] = int
    ) -> Checkpoints:
        """Return what a script has in this container, with more variables."""
        return Checkpoints(agree=agree, environ={**self.environ, **(variables or {})})

    @property
    def told(self) -> dict[str, object]:
        """What the termination message says."""
        found: dict[str, object] = json.loads(self.log.read_text())["checkpoint"]
        return found


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


@pytest.fixture(autouse=True)
def handler_stays() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    assert before == signal.getsignal(signal.SIGTERM)


class Saves:
    """What a script has saved, each time after so many steps. Called, it saves."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def __call__(self, done: int) -> str:
        """Return a path that is named after the steps that are done."""
        self.done.append(done)
        return f"/saved/{done}"


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def run(steps: Iterable[int], at: Mapping[int, Callable[[], object]]) -> list[int]:
    """Return the steps that a loop goes through; some of them have something done meanwhile."""
    gone = []
    for step in steps:
        gone.append(step)
        at.get(step, int)()
    return gone


def test_a_new_job_begins_at_the_first_step_and_saves_nothing(container: Container) -> None:
    save = Saves()
    with container.checkpoints() as checkpoints:
        assert Resume() == checkpoints.resume
        assert [0, 1, 2] == run(checkpoints.steps(3, save), {})
    assert [] == save.done
    assert "" == container.log.read_text()


def test_a_job_that_was_evicted_goes_on_where_it_was_saved(container: Container) -> None:
    variables = {"RESUME_FROM": "s3://a/7", "RESUME_STEP": "7", "RESUME_COUNT": "2"}
    with container.checkpoints(variables) as checkpoints:
        assert Resume("s3://a/7", step=7, count=2) == checkpoints.resume
        assert [7, 8] == list(checkpoints.steps(9, Saves()))


def test_variables_that_are_empty_are_those_of_a_new_job(container: Container) -> None:
    variables = {"RESUME_FROM": "", "RESUME_STEP": "", "RESUME_COUNT": ""}

    assert Resume() == container.checkpoints(variables).resume


@pytest.mark.parametrize("name", ["RESUME_STEP", "RESUME_COUNT", "RANK"])
def test_a_variable_that_is_no_number_is_named(container: Container, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is no number: 'seven'"):
        container.checkpoints({name: "seven"})


def test_sigterm_ends_the_loop_after_the_step_with_what_it_saved(container: Container) -> None:
    save = Saves()
    with pytest.raises(Evicted) as ended, container.checkpoints() as checkpoints:
        run(checkpoints.steps(9, save), {4: terminate})
    assert [5] == save.done
    assert {"step": 5, "path": "/saved/5"} == container.told
    # Not 0: the container has not succeeded.
    assert 143 == ended.value.code


def test_a_job_that_is_through_ends_well_even_when_it_is_evicted_then(
    container: Container,
) -> None:
    save = Saves()
    with container.checkpoints() as checkpoints:
        assert [0, 1] == run(checkpoints.steps(2, save), {1: terminate})
    assert [2] == save.done


def test_sigterm_is_what_it_was_before_and_after(container: Container) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with container.checkpoints():
        assert before != signal.getsignal(signal.SIGTERM)
    assert before == signal.getsignal(signal.SIGTERM)


def test_a_request_is_met_once_and_the_job_goes_on(container: Container) -> None:
    save = Saves()
    at = {3: lambda: container.ask("one"), 6: lambda: container.ask("two")}
    with container.checkpoints() as checkpoints:
        assert list(range(9)) == run(checkpoints.steps(9, save), at)
    assert [4, 7] == save.done


def test_a_request_that_is_withdrawn_before_the_step_ends_is_not_met(
    container: Container,
) -> None:
    save = Saves()
    container.ask("one")
    with container.checkpoints() as checkpoints:
        run(checkpoints.steps(2, save), {0: lambda: container.ask("")})
    assert [] == save.done


def test_a_request_is_met_even_if_it_is_older_than_the_process(container: Container) -> None:
    container.ask("one")
    save = Saves()
    with container.checkpoints() as checkpoints:
        run(checkpoints.steps(3, save), {})
    assert [1] == save.done


def test_sigterm_after_a_request_saves_again_what_was_done_since(container: Container) -> None:
    save = Saves()
    at = {2: lambda: container.ask("one"), 5: terminate}
    with pytest.raises(Evicted), container.checkpoints() as checkpoints:
        run(checkpoints.steps(9, save), at)
    assert [3, 6] == save.done
    assert {"step": 6, "path": "/saved/6"} == container.told


def test_a_job_saves_as_often_as_it_likes_and_tells_each_time(container: Container) -> None:
    save = Saves()
    with container.checkpoints() as checkpoints:
        run(checkpoints.steps(8, save, every=3), {})
    assert [3, 6] == save.done
    assert {"step": 6, "path": "/saved/6"} == container.told


def test_a_job_looks_only_as_often_as_its_interval_says_and_at_the_end(
    container: Container,
) -> None:
    looked: list[int] = []

    def agree(own: int) -> int:
        looked.append(own)
        return own

    container.ask("one")
    save = Saves()
    with container.checkpoints(agree=agree) as checkpoints:
        run(checkpoints.steps(10, save, look_every=4), {8: lambda: container.ask("two")})
    assert [4, 10] == save.done
    assert [Due.SAVE, Due.NOTHING, Due.SAVE] == looked


def test_only_rank_0_tells(container: Container) -> None:
    with container.checkpoints({"RANK": "1"}) as checkpoints:
        checkpoints.saved(3, "/saved/3")
    assert "" == container.log.read_text()


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({}, 0),
        ({"JOB_COMPLETION_INDEX": "3"}, 3),
        ({"RANK": "0", "JOB_COMPLETION_INDEX": "3"}, 0),
        ({"RANK": "5", "JOB_COMPLETION_INDEX": "3"}, 5),
    ],
)
def test_the_rank_is_that_of_the_launcher_or_the_job(
    container: Container, variables: dict[str, str], rank: int
) -> None:
    assert rank == container.checkpoints(variables).rank


def test_what_one_rank_is_asked_for_all_do_at_the_same_step_and_end_together(
    container: Container,
) -> None:
    """Two ranks in turns, as collectives let them go: only the other gets SIGTERM."""
    said: list[int] = []

    def agree(own: int) -> int:
        said.append(own)
        # What the other rank says: it is asked to end at the second look.
        return max(own, Due.SAVE_AND_END if len(said) >= 2 else Due.NOTHING)

    save = Saves()
    with pytest.raises(Evicted), container.checkpoints(agree=agree) as checkpoints:
        run(checkpoints.steps(9, save), {})
    assert [2] == save.done
    # The third is no look: it holds each rank until rank 0 has told.
    assert [Due.NOTHING, Due.NOTHING, Due.SAVE_AND_END] == said


def test_a_loop_of_its_own_asks_and_tells_itself(container: Container) -> None:
    with container.checkpoints() as checkpoints:
        assert Due.NOTHING is checkpoints.due()
        container.ask("one")
        assert Due.SAVE is checkpoints.due()
        checkpoints.saved(4, "/saved/4")
        assert Due.NOTHING is checkpoints.due()
        terminate()
        assert Due.SAVE_AND_END is checkpoints.due()


def test_outside_of_a_container_nothing_is_written(container: Container) -> None:
    container.log.unlink()
    with container.checkpoints() as checkpoints:
        checkpoints.saved(1, "/saved/1")
    assert not container.log.exists()


@pytest.mark.parametrize("path", ["x" * 1025, "\N{SNOWMAN}" * 1024])
def test_a_path_that_is_too_long_to_report_is_refused(container: Container, path: str) -> None:
    with (
        container.checkpoints() as checkpoints,
        pytest.raises(ValueError, match=f"has {len(path)} characters"),
    ):
        checkpoints.saved(1, path)


def test_a_message_that_cannot_be_written_is_a_warning(
    container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    container.log.unlink()
    container.log.mkdir()
    with container.checkpoints() as checkpoints:
        checkpoints.saved(1, "/saved/1")
    assert "termination message" in caplog.text


def isolated(source_root: Path, statement: str) -> str:
    """Return the errors of an interpreter that finds a directory and the standard library alone."""
    code = f"import sys; sys.path.insert(0, {str(source_root)!r}); {statement}"
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_it_needs_the_standard_library_alone(tmp_path: Path) -> None:
    shutil.copy(MODULE, tmp_path)

    assert "" == isolated(tmp_path, "import checkpoint; checkpoint.Checkpoints(environ={})")


def test_the_package_around_it_imports_nothing() -> None:
    assert "" == isolated(MODULE.parents[1], "import gang_scheduler.checkpoint")


def test_it_is_of_the_syntax_of_python_3_9() -> None:
    ast.parse(MODULE.read_text(), feature_version=(3, 9))


def test_a_step_without_a_path_is_none_to_go_on_from(
    container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    found = container.checkpoints({"RESUME_STEP": "60", "RESUME_COUNT": "2"}).resume

    assert Resume("", 0, 2) == found
    assert "RESUME_STEP is 60 and RESUME_FROM is empty: the job begins again" in caplog.text


@pytest.mark.parametrize("path", ["/saved/1", Path("/saved/1")])
def test_a_path_may_be_a_path(container: Container, path: str | Path) -> None:
    checkpoints = container.checkpoints()

    assert [0] == [*checkpoints.steps(1, lambda _: path, every=1)]

    assert {"step": 1, "path": "/saved/1"} == container.told


def test_what_was_saved_nowhere_is_not_reported(
    container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints = container.checkpoints()

    assert [0, 1] == [*checkpoints.steps(2, lambda _: None, every=1)]

    assert "" == container.log.read_text()
    assert "step 2 is not reported: it has no path from which a job could continue" in caplog.text


def test_what_is_no_path_is_refused(container: Container) -> None:
    with pytest.raises(TypeError):
        container.checkpoints().saved(1, b"/saved/1")  # type: ignore[arg-type]


def test_what_was_just_reported_is_not_reported_again(container: Container) -> None:
    """A store tells what it publishes, and the loop that called it tells it, too."""
    checkpoints = container.checkpoints()
    checkpoints.saved(1, "/saved/1")
    container.log.write_text("")

    checkpoints.saved(1, "/saved/1")
    assert "" == container.log.read_text()

    checkpoints.saved(2, "/saved/2")
    checkpoints.saved(1, "/saved/1")
    assert {"step": 1, "path": "/saved/1"} == container.told


def test_what_could_not_be_written_to_the_pod_is_reported_again_and_is_not_known(
    container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    """There is no POD_NAME here."""
    container.ask("one")
    checkpoints = container.checkpoints({"RESUME_FROM": "/saved/0"})

    checkpoints.saved(1, "/saved/1")
    checkpoints.saved(1, "/saved/1")

    assert 2 == caplog.text.count("POD_NAME is not set")
    assert "/saved/0" == checkpoints.known
