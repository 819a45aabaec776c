"""Random answers, timeouts, void plans, faults and restarts: no gang goes before its time."""

from collections import Counter

import pytest

from gang_scheduler.api.kinds import PODS
from integration.support.checkpoint_story import SIZE, Story, request_of
from support.thoroughness import cases

pytestmark = pytest.mark.looptime

STEPS = 40
SEEDS = range(cases(6, thorough=120))


async def test_the_stories_have_all_in_them() -> None:
    happened, evicted = Counter[str](), Counter[str]()
    for seed in SEEDS[:3]:
        story = Story(seed)
        await story.play(STEPS)
        happened += story.happened
        evicted += story.model.evicted

    assert evicted
    assert {"restart", "answer", "fault", "_come", "_go", "_grow", "_report"} == happened.keys()


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_gang_goes_before_it_has_answered_or_its_time_is_over(seed: int) -> None:
    story = Story(seed)
    await story.play(STEPS)
    await story.end()

    made = story.made
    assert [] == story.model.wrong
    left = Counter(pod.name.partition("-")[0] for pod in made.pods().values())
    # What was not evicted is as it was: whole, not asked, and not marked.
    assert {SIZE} >= {number for gang, number in left.items() if gang.startswith("low")}
    assert {} == {
        each["metadata"]["name"]: request_of(each)
        for each in made.cluster.all(PODS)
        if request_of(each)
    }
    assert ([], {}) == (made.marked(), made.nominated())


async def test_the_model_knows_an_eviction_that_comes_too_soon() -> None:
    story = Story(0)
    async with story._process(faults=False) as process:
        # As if all had answered at once.
        process.evictor._saving._is_over = lambda *_: True  # type: ignore[method-assign]
        for _ in range(4):
            story._come()
        await process.until(lambda: bool(story.model.evicted))

    assert story.model.wrong
