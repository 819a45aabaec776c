"""The checker of lives itself: it tells nominations that are kept from those that are not."""

from gang_scheduler.client.fake.cluster import Document
from search.lives.promises import Promises


class Story:
    """Pods of one gang as they are written, a second apart unless they are written at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.promises = Promises(lambda: self.now)

    def nominated(self, *names: str, to: str = "n1", gang: str = "g") -> None:
        """Nominate pods at once."""
        self.now += 1
        for name in names:
            self.promises.see(_pod(name, gang, nominated=to))

    def cleared(self, name: str, gang: str = "g") -> None:
        """End a nomination."""
        self.now += 1
        self.promises.see(_pod(name, gang))

    def bound(self, name: str, node: str = "n1", gang: str = "g") -> None:
        """Bind a pod."""
        self.now += 1
        self.promises.see(_pod(name, gang, node=node))


def test_a_pod_that_is_bound_has_what_it_was_promised() -> None:
    story = Story()
    story.nominated("g-0")
    story.bound("g-0", node="n2")

    assert [] == story.promises.broken()


def test_a_pod_that_still_waits_in_the_end_has_not() -> None:
    story = Story()
    story.nominated("g-0", "g-1")
    story.bound("g-1")

    assert ["g-0"] == story.promises.broken()


def test_nor_has_one_whose_nomination_ends() -> None:
    story = Story()
    story.nominated("g-0", "g-1")
    story.cleared("g-0")
    story.bound("g-1")

    assert ["g-0"] == story.promises.broken()


def test_a_mate_that_is_nominated_later_takes_over() -> None:
    story = Story()
    story.nominated("g-1")
    story.nominated("g-0")
    story.cleared("g-1")
    story.bound("g-0")

    assert [] == story.promises.broken()


def test_but_only_for_one() -> None:
    story = Story()
    story.nominated("g-1", "g-2")
    story.nominated("g-0")
    story.cleared("g-1")
    story.cleared("g-2")
    story.bound("g-0")

    assert ["g-2"] == story.promises.broken()


def test_a_pod_of_another_gang_does_not() -> None:
    story = Story()
    story.nominated("g-1")
    story.nominated("h-0", gang="h")
    story.cleared("g-1")

    assert ["g-1", "h-0"] == story.promises.broken()


def test_a_pod_that_is_gone_waits_for_nothing() -> None:
    story = Story()
    story.nominated("g-0")
    story.promises.forget("g-0")

    assert [] == story.promises.broken()


def _pod(name: str, gang: str, *, nominated: str = "", node: str = "") -> Document:
    return {
        "metadata": {"name": name, "uid": name, "labels": {"member-of": gang}},
        "spec": {"nodeName": node} if node else {},
        "status": {"nominatedNodeName": nominated} if nominated else {},
    }
