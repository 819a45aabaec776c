"""The worlds of `make slow` are read whole, come again from their recipe, and stay in bounds."""

from collections import Counter
from pathlib import Path
from random import Random
from unittest.mock import patch

from gang_scheduler.simulation import objects
from gang_scheduler.simulation.documents import Document
from search.manifests import Manifest
from search.slow import judging, recipes, rendering
from search.slow.archive import MOST, Archive, Found
from search.slow.judging import Pace, Verdict
from search.slow.recipes import CLUSTER, CROWD, NODES, PODS, Recipe

WORLDS = 40
FEW = 60
SCHEDULER = "py-gang-scheduler"
EVERY_KIND = {
    *("Node", "Pod", "PodGroup", "Job", "ClusterNetworkTopology", "PodDisruptionBudget"),
    *("Queue", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"),
    *("PersistentVolume", "PersistentVolumeClaim", "StorageClass"),
    *("DeviceClass", "ResourceSlice", "ResourceClaim"),
}


def bred(seed: int) -> Recipe:
    """Return a world that was changed some times."""
    dice = Random(seed)  # noqa: S311 - for worlds, not for secrets.
    recipe = recipes.drawn(dice)
    for _ in range(6):
        recipe = recipes.changed(recipe, recipes.drawn(dice), dice)
    return recipe


def small(recipe: Recipe, seed: int) -> Recipe:
    """Return a small world such as this, in turn with queues of each product and each kind."""
    sizes = {name: min(recipe.cluster[name], FEW) for name in ("nodes", "volumes", "queues")}
    first, *others = recipe.crowds
    crowds = ({**first, "kind": seed % (CROWD["kind"].most + 1)}, *others)
    return Recipe({**recipe.cluster, **sizes, "product": seed // 6 % 4}, crowds)


def load(bodies: list[Manifest]) -> objects.Objects:
    found = [Document("world", number, body) for number, body in enumerate(bodies, start=1)]
    return objects.load(found, SCHEDULER)


def test_every_world_is_read_whole_and_all_kinds_are_drawn() -> None:
    kinds = Counter[str]()
    for seed in range(WORLDS):
        bodies = rendering.manifests_of(small(bred(seed), seed), FEW)
        kinds.update(body["kind"] for body in bodies)

        assert () == load(bodies).notes, seed

    assert EVERY_KIND <= kinds.keys()


def test_a_world_comes_again_from_what_is_kept_of_it(tmp_path: Path) -> None:
    recipe = bred(1)
    archive = Archive(tmp_path / "worlds.json")
    archive.add(Found(recipe, Verdict("schedule", 1.5)))
    archive.write()

    (again,) = Archive(tmp_path / "worlds.json").read()

    assert Found(recipe, Verdict("schedule", 1.5)) == again
    assert rendering.manifests_of(recipe, FEW) == rendering.manifests_of(again.recipe, FEW)


def test_of_each_niche_the_slowest_are_kept(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "worlds.json")
    kept = [archive.add(Found(bred(1), Verdict("schedule", each))) for each in range(2 * MOST)]

    assert [True] * 2 * MOST == kept
    assert not archive.add(Found(bred(1), Verdict("schedule", 0)))
    assert archive.add(Found(bred(1), Verdict("snapshot", 0)))
    assert MOST + 1 == len(archive.every())
    assert 2 * MOST - 1 == archive.every()[0].verdict.seconds


def test_no_world_is_larger_than_the_largest_that_is_asked_about() -> None:
    cluster = {name: each.most for name, each in CLUSTER.items()}
    crowd = {name: each.least for name, each in CROWD.items()} | {"gangs": 9_000, "size": 3}

    kinds = Counter(
        body["kind"] for body in rendering.manifests_of(Recipe(cluster, (crowd, crowd)))
    )

    assert (NODES, 18_000) == (kinds["Node"], kinds["Pod"])
    assert kinds["Pod"] <= PODS


def test_the_claims_of_devices_that_pods_name_are_there() -> None:
    cluster = {name: each.least for name, each in CLUSTER.items()} | {"devices": 4}
    crowd = {name: each.least for name, each in CROWD.items()}
    crowd |= {"gangs": 2, "size": 3, "kind": 1, "asks": 1}

    for common, number in ((0, 6), (1, 2)):
        bodies = rendering.manifests_of(Recipe(cluster, ({**crowd, "common": common},)))
        made = {each["metadata"]["name"] for each in bodies if each["kind"] == "ResourceClaim"}
        named = {
            entry["resourceClaimName"]
            for each in bodies
            if each["kind"] == "Pod"
            for entry in each["spec"]["resourceClaims"]
        }
        assert (number, named) == (len(made), made)


def test_the_pace_is_that_beside_a_quiet_machine() -> None:
    pace = Pace(reference=0.0001)

    assert 0 < pace.now() < 1
    assert 0.0001 == pace.best


def test_a_clock_that_stood_still_makes_no_world_slower_than_it_was() -> None:
    """The samples seem to take a hundredth of what they take on the quiet machine."""
    pace = Pace(reference=0.002)

    with patch.object(judging, "_seconds_of_work", return_value=0.00002):
        assert 1 == pace.now()
