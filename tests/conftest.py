"""Settings for the whole of the tests.

Property tests draw the same examples every time (profile `ci`), so that a red build is red again
on another machine. `--hypothesis-profile=search` looks for new examples instead.
"""

from hypothesis import settings

settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, max_examples=120, print_blob=False
)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("ci")
