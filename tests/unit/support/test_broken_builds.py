"""Builds that are broken on purpose: each patch must fit the code as it is."""

import ast

import pytest

from support import broken_builds
from support.broken_builds import DoesNotApplyError, Hunk

PATCH = """\
The answer is wrong.

--- a/gang_scheduler/answer.py
+++ b/gang_scheduler/answer.py
@@ -1,3 +1,3 @@
 def answer() -> int:
-    return 42
+    return 41

"""


@pytest.mark.parametrize("name", broken_builds.names())
def test_a_patch_applies_and_is_python(name: str) -> None:
    files = broken_builds.files(name)

    assert files
    for file, code in files.items():
        before = (broken_builds.OPERATOR / file).read_text()
        assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(code))


def test_there_is_a_build_for_each_promise() -> None:
    assert [
        "binds_without_capacity",
        "evicts_one_too_many",
        "forgets_the_lease",
        "lends_a_guarantee",
        "loses_a_deletion",
    ] == broken_builds.names()


def test_a_patch_is_found_by_its_text() -> None:
    (hunk,) = broken_builds.hunks(PATCH)
    code = "# Moved.\ndef answer() -> int:\n    return 42\n\n"

    assert "gang_scheduler/answer.py" == hunk.file
    assert code.replace("42", "41") == broken_builds.broken(code, hunk)


@pytest.mark.parametrize("code", ["", "x = 1\nx = 1\n"])
def test_a_patch_that_fits_nowhere_or_twice_is_refused(code: str) -> None:
    with pytest.raises(DoesNotApplyError):
        broken_builds.broken(code, Hunk("a.py", "x = 1\n", "x = 2\n"))
