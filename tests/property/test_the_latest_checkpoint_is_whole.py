"""Whatever saves, kills, prunes and deletions meet, the latest checkpoint is whole and current.

Each history is of two writers of one store. Each request of a save may be its last, or may have
another writer do something before it. A model knows what each save wrote, and when it began and
ended. After each step:

- what `latest` finds has the content that one save wrote;
- it did not end before the last save that returned began;
- everything in the list is whole, and what the gang would begin from is among it.
"""

import random
import secrets
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gang_scheduler import checkpoint_files
from gang_scheduler.checkpoint import Checkpoints
from gang_scheduler.checkpoint_store import NotSavedError, Saved, Store
from support.checkpoint_places import AtRequest, Killed, KilledAt
from support.thoroughness import cases

HISTORIES = cases(60, thorough=500)
STEPS = 14
MOST_REQUESTS = 10
"""More than a save of one rank sends."""


class History:
    """A store, the processes that use it, and what must be in it."""

    def __init__(self, url: str, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - no secret.
        self.met: Counter[str] = Counter()
        self._url = url
        self._now = 0
        self._contents: dict[str, dict[str, str]] = {}
        self._ended: dict[str, int] = {}
        self._returned_from = 0
        """When the save began that returned last."""
        self._resume = ""

    def run(self) -> None:
        """Do some random things, and look after each of them; at the end prune what is left."""
        for _ in range(STEPS):
            self.dice.choice([self.save, self.save, self.killed, self.disturbed, self.calm])()
            self.look()
        self.others().prune(0)
        self.look()
        self._no_litter()

    def others(self) -> Store:
        """Return the store as a process sees it that has just begun."""
        checkpoints = Checkpoints(environ={"RESUME_FROM": self._resume})
        return Store(self._url, checkpoints, environ={})

    def save(self, prepare: Callable[[Store], object] = id) -> None:
        """Save something; the other end of `prepare` may kill or disturb it."""
        store = self.others()
        prepare(store)
        files = {
            f"{self.dice.choice('ab')}{number}": secrets.token_hex(self.dice.randrange(20))
            for number in range(self.dice.randrange(1, 3))
        }
        mark = secrets.token_hex(8)
        self._contents[mark] = files
        began = self._tick()

        def write(directory: Path) -> None:
            for name, content in files.items():
                (directory / name).write_text(content)

        try:
            store.save(self.dice.randrange(100), write, metadata={"mark": mark})
        except Killed:
            self.met["killed"] += 1
        except (NotSavedError, FileNotFoundError):
            # A prune took what was there for litter.
            self.met["pruned meanwhile"] += 1
        else:
            self.met["returned"] += 1
            self._returned_from = began
        self._ended[mark] = self._tick()

    def killed(self) -> None:
        """Kill a process before one of its requests, whatever it does."""
        number = self.dice.randrange(MOST_REQUESTS)
        if self.dice.random() < 0.6:
            return self.save(lambda store: KilledAt(store, number))
        store = self.others()
        KilledAt(store, number)
        try:
            self._clean(store)
        except Killed:
            self.met["killed while it deletes"] += 1
        return None

    def disturbed(self) -> None:
        """Have another process do something in the middle of a save, or of a deletion."""
        number = self.dice.randrange(MOST_REQUESTS)
        do = self.dice.choice([self.save, self.killed, lambda: self._clean(self.others())])
        if self.dice.random() < 0.7:
            return self.save(lambda store: AtRequest(store, number, do))
        store = self.others()
        AtRequest(store, number, do)
        self.met["disturbed while it deletes"] += 1
        return self._clean(store)

    def calm(self) -> None:
        """Delete and prune, or begin from a checkpoint, as a gang does after an eviction."""
        if self.dice.random() < 0.3:
            found = self.others().list()
            self._resume = self.dice.choice(found).path if found else ""
        else:
            self._clean(self.others())

    def _clean(self, store: Store) -> None:
        if self.dice.random() < 0.5:
            self.met["pruned"] += len(store.prune(0))
        else:
            every = self.dice.choice([None, 10])
            last = self.dice.randrange(1, 4)
            self.met["deleted"] += len(store.keep(last, every, lambda saved: saved.step))

    def look(self) -> None:
        """Hold the laws against what is there."""
        store = self.others()
        latest = store.latest()
        assert latest is not None or self._returned_from == 0
        if latest is not None:
            self._is_whole(store, latest)
            assert self._ended[latest.metadata["mark"]] > self._returned_from
        found = store.list()
        for each in found:
            self._is_whole(store, each)
        assert not self._resume or self._resume in {each.path for each in found}

    def _is_whole(self, store: Store, saved: Saved) -> None:
        with store.load(saved.path) as directory:
            found = {each.name: (directory / each.name).read_text() for each in saved.files}
        assert self._contents[saved.metadata["mark"]] == found

    def _no_litter(self) -> None:
        store = self.others()
        expected = set()
        for each in store.list():
            expected.add(checkpoint_files.entry_of(*each.entry))
            expected.update(f"{each.name}/{file.name}" for file in each.files)
        left = set(store._files.find("")) - expected
        # A mark that a killed prune left on a published checkpoint goes together with it.
        assert not [each for each in left if not each.startswith("pruned/")]

    def _tick(self) -> int:
        self._now += 1
        return self._now


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no threads, so that a history is the same each time; and play no power cut."""
    monkeypatch.setattr(checkpoint_files, "at_once", lambda do, items: [do(each) for each in items])
    monkeypatch.setattr(checkpoint_files, "_flush", id)


def test_the_latest_checkpoint_is_whole_and_current_in_all_histories(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in range(HISTORIES):
        in_memory = f"memory://bucket-{secrets.token_hex(8)}/kept"
        history = History(str(tmp_path / str(seed)) if seed % 2 else in_memory, seed)
        try:
            history.run()
        except Exception as error:
            raise AssertionError(f"history {seed}") from error
        met += history.met

    # Each thing that may happen did.
    assert not [
        each
        for each in (
            "returned",
            "killed",
            "killed while it deletes",
            "pruned meanwhile",
            "disturbed while it deletes",
            "pruned",
            "deleted",
        )
        if met[each] < HISTORIES / 20
    ], met
