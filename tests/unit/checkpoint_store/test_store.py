"""What is saved is published as a whole, found again, kept as long as asked, and pruned."""

import ast
import json
import logging
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gang_scheduler import checkpoint_files, checkpoint_store
from gang_scheduler.checkpoint import Checkpoints
from gang_scheduler.checkpoint_store import (
    DamagedError,
    NotPublishedError,
    NotSavedError,
    Saved,
    Store,
)
from support.checkpoint_places import AtRequest, Killed, KilledAt

BEFORE_THE_MANIFEST = 3
"""The request of a save before which the files are there, and nothing is published."""
MODULES = [Path(checkpoint_store.__file__), Path(checkpoint_files.__file__)]


@pytest.fixture(params=["directory", "file", "bucket"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a store of each kind; the bucket is in memory."""
    return {
        "directory": str(tmp_path / "kept"),
        "file": f"file://{tmp_path}/kept",
        "bucket": f"memory://bucket-{secrets.token_hex(8)}/llama",
    }[str(request.param)]


@pytest.fixture
def store(url: str) -> Store:
    return Store(url, environ={})


def text(content: str, name: str = "model.txt") -> Callable[[Path], object]:
    """Return what writes one file."""

    def write(directory: Path) -> None:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    return write


def read(store: Store, which: Any, name: str = "model.txt") -> str:
    with store.load(which) as directory:
        return (directory / name).read_text()


def all_files(store: Store) -> set[str]:
    return set(store._files.find(""))


def steps(store: Store) -> list[int]:
    return [each.step for each in store.list()]


# Saving and loading.


def test_an_empty_store_has_no_latest(store: Store) -> None:
    assert store.latest() is None
    assert [] == store.list()
    assert [] == store.keep()
    assert [] == store.prune(0)


def test_what_was_saved_is_the_latest_and_can_be_loaded(store: Store, url: str) -> None:
    store.save(10, text("ten"))
    saved = store.save(20, text("twenty", "deep/er/model.txt"), epoch=2, metadata={"loss": 0.5})

    again = Store(url, environ={})
    assert saved == again.latest()
    assert [10, 20] == steps(again)
    assert (20, 2, {"loss": 0.5}, 6, 1) == (
        saved.step,
        saved.epoch,
        saved.metadata,
        saved.size,
        saved.ranks,
    )
    assert ["deep/er/model.txt"] == [each.name for each in saved.files]
    for which in (20, saved, saved.path, Path(saved.path), f"{saved.path}/"):
        assert "twenty" == read(again, which, "deep/er/model.txt")
    assert "ten" == read(again, 10)


def test_a_directory_has_the_path_that_a_script_can_open(tmp_path: Path) -> None:
    for url in (str(tmp_path / "a"), f"file://{tmp_path}/b"):
        saved = Store(url, environ={}).save(1, text("one"))
        assert "one" == Path(saved.path, "model.txt").read_text()


def test_a_checkpoint_is_found_though_it_is_mounted_elsewhere_now(tmp_path: Path) -> None:
    saved = Store(tmp_path / "old", environ={}).save(1, text("one"))
    (tmp_path / "old").rename(tmp_path / "new")

    assert "one" == read(Store(tmp_path / "new", environ={}), saved.path)


def test_only_the_files_that_are_asked_for_are_fetched() -> None:
    store = Store(f"memory://bucket-{secrets.token_hex(8)}/llama", environ={})

    def write(directory: Path) -> None:
        for each in ("rank-0.bin", "rank-1.bin"):
            (directory / each).write_text(each)

    saved = store.save(1, write)
    with store.load(saved, only="rank-1.*") as directory:
        assert ["rank-1.bin"] == [each.name for each in directory.iterdir()]
    assert not directory.exists()
    with pytest.raises(NotPublishedError), store.load(saved, only="rank-2.*"):
        pass


def test_arrays_of_numpy_come_back(store: Store) -> None:
    weights = np.arange(6.0).reshape(2, 3)
    saved = store.save(
        3,
        lambda directory: np.savez(directory / "model.npz", weights=weights),
        metadata={"loss": np.float32(0.5), "best": np.bool_(True)},  # noqa: FBT003
    )

    with store.load(saved) as directory, np.load(directory / "model.npz") as found:
        assert np.array_equal(weights, found["weights"])
    assert {"loss": 0.5, "best": True} == saved.metadata


def test_one_step_may_be_saved_twice_and_the_later_counts(store: Store) -> None:
    store.save(5, text("first"))
    store.save(5, text("second"))

    assert "second" == read(store, 5)


def test_the_latest_is_by_the_order_of_saves_not_by_steps_or_clocks(url: str) -> None:
    """A training that went back to an earlier step goes on there; the clocks of nodes differ."""
    Store(url, environ={}, clock=lambda: 2e9).save(1000, text("lost"))
    Store(url, environ={}, clock=lambda: 0.0).save(600, text("went back"))

    found = Store(url, environ={}).latest()
    assert found is not None
    assert (600, "1970-01-01T00:00:00Z") == (found.step, found.saved_at)


@pytest.mark.parametrize("which", [7, "/elsewhere/step-7.pt", ""])
def test_what_was_never_published_is_not_found(store: Store, which: str | int) -> None:
    store.save(5, text("five"))

    with pytest.raises(NotPublishedError), store.load(which):
        pass


def place_of(saved: Saved) -> str:
    return f"{saved.name}/model.txt"


def test_a_file_that_has_changed_is_not_loaded(store: Store) -> None:
    saved = store.save(5, text("five"))
    store._files.write(place_of(saved), b"FIVE", "aside")

    with pytest.raises(DamagedError, match="not what was written"):
        read(store, saved)


def test_a_checkpoint_that_lost_a_file_is_passed_over(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(5, text("five"))
    saved = store.save(6, text("six"))
    store._files.remove(place_of(saved))

    with pytest.raises(DamagedError, match="lost"):
        read(store, saved)
    assert [5] == steps(store)
    assert "lacks files" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-10],
        lambda _: b"",
        lambda _: b"[]",
        lambda _: b"\xff",
        lambda content: content.replace(b'"step": 6', b'"step": 7'),
        lambda content: content.replace(b'"version": 1', b'"version": 2'),
    ],
)
def test_a_manifest_that_is_damaged_is_passed_over(
    store: Store, damage: Callable[[bytes], bytes], url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(5, text("five"))
    saved = store.save(6, text("six"))
    where = checkpoint_files.entry_of(*saved.entry)
    store._files.write(where, damage(store._files.read(where)), "aside")

    assert [5] == steps(Store(url, environ={}))
    assert "cannot be read" in caplog.text


def test_what_the_script_raises_is_raised_and_nothing_is_left(store: Store) -> None:
    def fail(directory: Path) -> None:
        (directory / "model.txt").write_text("half")
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        store.save(5, fail)

    assert store.latest() is None
    assert set() == all_files(store)


def test_a_step_below_zero_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="-1"):
        store.save(-1, text("none"))


def test_metadata_that_no_reader_would_understand_is_refused(store: Store) -> None:
    with pytest.raises(AttributeError):
        store.save(1, text("one"), metadata={"model": object()})
    assert store.latest() is None


def test_a_url_that_is_too_long_to_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1024 characters"):
        Store(tmp_path / ("x" * 1000), environ={})


# The scheduler is told.


class Container:
    """What a kubelet gives to a container, with a scheduler that resumed the gang or did not."""

    def __init__(self, directory: Path, resume: str = "") -> None:
        self.log = directory / "termination-log"
        self.log.touch()
        self.checkpoints = Checkpoints(
            environ={
                "CHECKPOINT_TERMINATION_LOG": str(self.log),
                "CHECKPOINT_REQUEST_FILE": str(directory / "podinfo" / "id"),
                "RESUME_FROM": resume,
            }
        )

    @property
    def told(self) -> Mapping[str, object]:
        """What the termination message says."""
        found: Mapping[str, object] = json.loads(self.log.read_text())["checkpoint"]
        return found


def test_the_published_checkpoint_is_reported_to_the_scheduler(url: str, tmp_path: Path) -> None:
    container = Container(tmp_path)
    store = Store(url, container.checkpoints, environ={})

    saved = store.save(5, text("five"))

    assert {"step": 5, "path": saved.path} == container.told


def test_no_checkpoint_is_reported_that_is_not_published(url: str, tmp_path: Path) -> None:
    container = Container(tmp_path)
    store = Store(url, container.checkpoints, environ={})
    KilledAt(store, BEFORE_THE_MANIFEST)

    with pytest.raises(Killed):
        store.save(5, text("five"))

    assert "" == container.log.read_text()


def test_a_loop_that_saves_to_a_store_goes_on_from_it(url: str, tmp_path: Path) -> None:
    container = Container(tmp_path)
    store = Store(url, container.checkpoints, environ={})

    def save(done: int) -> str:
        return store.save(done, text(str(done))).path

    assert [0, 1, 2, 3] == [*container.checkpoints.steps(4, save, every=2)]

    later = Container(tmp_path, resume=str(container.told["path"]))
    assert "4" == read(Store(url, later.checkpoints, environ={}), later.checkpoints.resume.path)


# Keeping.


def test_the_last_ones_those_of_every_so_many_steps_and_the_best_are_kept(store: Store) -> None:
    losses = {100: 3.0, 200: 1.0, 300: 2.0, 400: float("nan"), 450: 4.0, 500: 4.0, 600: None}
    for step, loss in losses.items():
        store.save(step, text(str(step)), metadata={} if loss is None else {"loss": loss})

    gone = store.keep(last=2, every=300, best=lambda saved: saved.metadata.get("loss"))

    assert [200, 300, 500, 600] == steps(store)
    assert 3 == len(gone)
    assert [] == store.keep(last=2, every=300, best=lambda saved: saved.metadata.get("loss"))
    assert [] == store.prune(0)


def test_the_checkpoint_from_which_the_gang_began_is_kept(url: str, tmp_path: Path) -> None:
    first = Store(url, environ={}).save(1, text("one"))
    container = Container(tmp_path, resume=first.path)
    store = Store(url, container.checkpoints, environ={})
    for step in (2, 3, 4):
        store.save(step, text(str(step)))

    store.keep(last=1)

    assert [1, 4] == steps(store)


def test_the_checkpoint_that_the_scheduler_knows_is_kept_while_no_other_can_be_reported(
    url: str, tmp_path: Path
) -> None:
    container = Container(tmp_path)
    store = Store(url, container.checkpoints, environ={})
    container.checkpoints.known = store.save(1, text("one")).path
    store.save(2, text("two"))

    store.keep(last=1)

    assert [1, 2] == steps(store)


def test_checkpoints_that_lack_files_do_not_count_as_the_last_ones(store: Store) -> None:
    store.save(1, text("one"))
    for step in (2, 3):
        store._files.remove(place_of(store.save(step, text(str(step)))))

    assert [] == store.keep(last=1)

    assert [1] == steps(store)
    store.save(4, text("four"))
    assert 3 == len(store.keep(last=1))


@pytest.mark.parametrize(("last", "every"), [(0, None), (1, 0)])
def test_keeping_nothing_is_refused(store: Store, last: int, every: int | None) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        store.keep(last, every)


def test_what_cannot_be_deleted_is_a_warning_and_the_training_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("out of order")

    for step in (1, 2, 3):
        store.save(step, text(str(step)))
    requests = AtRequest(store, 10_000, fail)
    store.keep(last=3)
    for number in range(requests.requests + 3):
        AtRequest(store, number, fail)
        store.keep(last=2)

    assert [2, 3] == steps(store)
    assert "out of order" in caplog.text


# Pruning.


def requests_of_a_save(url: str) -> int:
    store = Store(f"{url}-another", environ={})
    requests = AtRequest(store, 10_000, int)
    store.save(1, text("one"))
    return requests.requests


def test_a_writer_that_is_killed_anywhere_leaves_what_was_there_and_litter(url: str) -> None:
    others = Store(url, environ={})
    saved = others.save(1, text("one"))
    clean = all_files(others)
    for number in range(requests_of_a_save(url)):
        store = Store(url, environ={})
        KilledAt(store, number)
        with pytest.raises(Killed):
            store.save(2, text("two"))
        found = others.latest()
        assert found is not None
        assert read(others, found) == {1: "one", 2: "two"}[found.step]
        others.prune(0)
        if found == saved:
            assert clean == all_files(others)
        else:
            assert "two" == read(others, 2)
            others._delete(found)


def test_litter_stays_as_long_as_something_was_added_to_it_lately(store: Store, url: str) -> None:
    writer = Store(url, environ={})
    KilledAt(writer, BEFORE_THE_MANIFEST)
    with pytest.raises(Killed):
        writer.save(2, text("two"))
    before = all_files(store)

    assert [] == store.prune()
    (path,) = store.prune(0, dry_run=True)
    assert before == all_files(store)
    assert [path] == store.prune(0)
    assert set() == all_files(store)


def test_a_save_that_is_pruned_meanwhile_fails_and_is_not_published(url: str) -> None:
    others = Store(url, environ={})
    others.save(1, text("one"))
    failed = 0
    for number in range(requests_of_a_save(url)):
        store = Store(url, environ={})
        AtRequest(store, number, lambda: others.prune(0))
        try:
            saved = store.save(2, text("two"))
        except Exception:  # By which request it is noticed does not matter.
            failed += 1
        else:
            assert "two" == read(others, saved)
            others._delete(saved)
        assert [1] == steps(others)
        others.prune(0)
    assert failed


def test_a_prune_that_is_killed_anywhere_is_ended_by_the_next(url: str) -> None:
    others = Store(url, environ={})
    others.save(1, text("one"))
    clean = all_files(others)
    number, dead = 0, True
    while dead:
        writer = Store(url, environ={})
        KilledAt(writer, BEFORE_THE_MANIFEST)
        with pytest.raises(Killed):
            writer.save(2, text("two"))
        pruner = Store(url, environ={})
        killed = KilledAt(pruner, number)
        try:
            pruner.prune(0)
        except Killed:
            others.prune(0)
        dead, number = killed.dead, number + 1
        assert clean == all_files(others)


# Several ranks.


class Gang:
    """Ranks in threads, which agree as by an all-reduce."""

    def __init__(self, url: str, ranks: int) -> None:
        self.barrier = threading.Barrier(ranks)
        self.numbers = [0] * ranks
        self.stores = [
            Store(url, rank=rank, ranks=ranks, agree=self._agree(rank), environ={})
            for rank in range(ranks)
        ]

    def _agree(self, rank: int) -> Callable[[int], int]:
        def agree(own: int) -> int:
            self.numbers[rank] = own
            self.barrier.wait()
            found = max(self.numbers)
            self.barrier.wait()
            return found

        return agree

    def all(self, do: Callable[[Store], object]) -> list[Any]:
        """Return what each rank returns or raises."""

        def one(store: Store) -> object:
            try:
                return do(store)
            except Exception as error:
                return error
            except Killed as error:
                self.barrier.abort()
                return error

        with ThreadPoolExecutor(len(self.stores)) as pool:
            return list(pool.map(one, self.stores))


def shard(store: Store, step: int) -> Saved:
    return store.save(step, text(f"{step} of {store.rank}", f"rank-{store.rank}.txt"))


def test_ranks_write_their_shards_and_one_publishes_when_all_are_there(url: str) -> None:
    gang = Gang(url, 3)

    saved = gang.all(lambda store: shard(store, 7))

    assert [saved[0]] * 3 == saved
    assert [(f"rank-{rank}.txt", rank) for rank in range(3)] == [
        (each.name, each.rank) for each in saved[0].files
    ]
    assert 3 == saved[0].ranks
    assert [saved[0]] == gang.stores[0].list()
    for rank in range(3):
        assert f"7 of {rank}" == read(gang.stores[1], 7, f"rank-{rank}.txt")
    assert [] == gang.stores[0].prune(0)
    assert not [each for each in all_files(gang.stores[0]) if each.startswith("parts")]


def test_ranks_that_write_nothing_take_part(url: str) -> None:
    gang = Gang(url, 2)

    saved = gang.all(lambda store: store.save(7, text("7") if store.rank == 0 else id))

    assert ["model.txt"] == [each.name for each in saved[1].files]


def test_where_one_rank_fails_all_do_and_nothing_is_published(url: str) -> None:
    gang = Gang(url, 3)

    def fail(_: Path) -> None:
        raise RuntimeError("no memory")

    found = gang.all(lambda store: shard(store, 7) if store.rank != 1 else store.save(7, fail))

    assert [NotSavedError, RuntimeError, NotSavedError] == [type(each) for each in found]
    assert gang.stores[0].latest() is None
    assert set() == all_files(gang.stores[0])


def test_a_rank_may_begin_while_another_one_tidies_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, removed = os.mkdir, list[Path]()

    def tidied_up(path: str, *how: int) -> None:
        parent = Path(path).parent
        if Path(path).name.startswith("rank-") and parent.exists() and not removed:
            removed.append(parent)
            parent.rmdir()
        make(path, *how)

    monkeypatch.setattr(os, "mkdir", tidied_up)
    store = Store(str(tmp_path / "kept"), environ={})

    saved = store.save(7, text("7"))

    assert removed
    assert saved == store.latest()


def test_two_ranks_that_write_the_same_name_are_reported(url: str) -> None:
    gang = Gang(url, 2)

    found = gang.all(lambda store: store.save(7, text(str(store.rank))))

    assert all(isinstance(each, (NotSavedError, FileExistsError)) for each in found)
    assert gang.stores[0].latest() is None


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_anywhere_leaves_no_half_checkpoint(url: str, rank: int) -> None:
    number, dead = 0, True
    while dead:
        gang = Gang(url, 2)
        killed = KilledAt(gang.stores[rank], number)
        gang.all(lambda store: shard(store, 7))
        dead, number = killed.dead, number + 1
        others = Store(url, environ={})
        for each in others.list():
            assert ["7 of 0", "7 of 1"] == [read(others, each, f"rank-{n}.txt") for n in range(2)]
        others.prune(0)
        others.keep(last=1)
    assert 1 == len(others.list())


def test_only_rank_0_deletes_and_reads_what_is_published(url: str) -> None:
    gang = Gang(url, 2)
    for step in (1, 2, 3):
        gang.all(lambda store, step=step: shard(store, step))  # type: ignore[misc]

    gang.all(lambda store: store.keep(last=2))

    assert [2, 3] == steps(gang.stores[1])
    assert [] == gang.stores[1].keep(last=1)


def test_rank_0_that_cannot_read_what_is_published_ends_the_save_of_all(tmp_path: Path) -> None:
    gang = Gang(str(tmp_path), 2)

    def fail() -> None:
        raise OSError("out of order")

    AtRequest(gang.stores[0], 0, fail)
    found = gang.all(lambda store: shard(store, 7))

    assert [OSError, NotSavedError] == [type(each) for each in found]


def test_ranks_that_cannot_agree_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="need `agree`"):
        Store(tmp_path, environ={"WORLD_SIZE": "4"})
    with pytest.raises(ValueError, match="rank 3 of 1"):
        Store(tmp_path, Checkpoints(rank=3, environ={}), environ={})


def test_the_gang_is_named_by_the_environment(tmp_path: Path) -> None:
    saved = Store(tmp_path, environ={"GANG": "llama"}).save(1, text("one"))

    assert "llama" == saved.gang


# Importing.


def test_a_directory_needs_the_standard_library_alone_and_no_scheduler(tmp_path: Path) -> None:
    for each in MODULES:
        shutil.copy(each, tmp_path)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import checkpoint_store
store = checkpoint_store.Store({str(tmp_path / "kept")!r}, environ={{}})
path = store.save(1, lambda directory: (directory / "a").write_text("b")).path
with store.load(path) as directory:
    print((directory / "a").read_text())
"""
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", code]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ("b\n", "") == (done.stdout, done.stderr)


def test_importing_it_imports_no_client_of_a_bucket() -> None:
    code = "import sys, gang_scheduler.checkpoint_store; print('fsspec' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False\n" == done.stdout


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_it_is_of_the_syntax_of_python_3_9(module: Path) -> None:
    ast.parse(module.read_text(), feature_version=(3, 9))


def test_a_request_is_sent_again_and_the_last_error_is_raised(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint_files, "PAUSES_SECONDS", (0.0, 0.0))
    caplog.set_level(logging.INFO)
    left = [OSError("first"), OSError("second"), OSError("third")]

    def fail() -> None:
        raise left.pop(0)

    with pytest.raises(OSError, match="third"):
        checkpoint_files._again(fail)
    assert "second" in caplog.text
    with pytest.raises(FileNotFoundError):
        checkpoint_files._again(lambda: Path("/no/such/file").read_bytes())
