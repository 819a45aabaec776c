"""Settings for the whole of the tests.

Property tests draw the same examples every time, so that a red build is red again on another
machine: few, or many with `GANG_TESTS=thorough`. `--hypothesis-profile=search` looks for new
examples instead.
"""

import asyncio
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from support import thoroughness

# Also what only supports tests says what it found when it fails.
pytest.register_assert_rewrite("e2e.support", "integration.support", "integrations")

settings.register_profile(
    "drawn",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=thoroughness.cases(50, thorough=1000),
    print_blob=False,
)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("drawn")


@pytest.fixture(scope="session", autouse=True)
def event_loop_of_the_thread() -> Iterator[None]:
    """Have a loop that is closed in the end.

    pytest-asyncio asks for the current loop before it sets its own. Without one, asyncio would
    make it, and no code close it: a warning in whichever test the garbage collector runs.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def log_as_it_comes() -> Iterator[None]:
    """Undo what a command has set for its own log."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
