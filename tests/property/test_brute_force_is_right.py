"""The judge of placements, on networks where the answer can be seen."""

from property.brute_force import Instance

TWO_RACKS = {"r1/n1": 2, "r1/n2": 1, "r2/n3": 2}


def network(cpus: dict[str, int], count: int, *runs: tuple[int, int]) -> Instance:
    free = tuple((tuple(path.split("/")), (("cpu", cpu),)) for path, cpu in cpus.items())
    return Instance(free, ((("cpu", 1),),), (count,), runs)


def test_the_lowest_domain_with_room_for_all() -> None:
    assert [("r1", "n1"), ("r2", "n3")] == network(TWO_RACKS, 2).lowest()
    assert [("r1",)] == network(TWO_RACKS, 3).lowest()
    assert [()] == network(TWO_RACKS, 5).lowest()
    assert [] == network(TWO_RACKS, 6).lowest()
    assert [] == network(TWO_RACKS, 4).lowest(must=1)


def test_the_fewest_domains() -> None:
    assert 2 == network(TWO_RACKS, 4).fewest(1)
    assert 2 == network(TWO_RACKS, 4).fewest(2)
    assert 3 == network(TWO_RACKS, 5).fewest(2)
    assert 1 == network(TWO_RACKS, 1).fewest(2, ("r1",))
    assert network(TWO_RACKS, 6).fewest(1) is None


def test_as_many_as_fit() -> None:
    assert 3 == network(TWO_RACKS, 5).most([1, 3, 4], ("r1",))
    assert 0 == network(TWO_RACKS, 5).most([4, 5], ("r1",))


def test_every_slice_is_in_one_domain_and_the_last_may_be_short() -> None:
    three_and_three = {"r1/n1": 3, "r2/n2": 3}

    assert network(three_and_three, 6, (1, 3)).fits(())
    assert network(three_and_three, 5, (1, 2)).fits(())
    assert not network(three_and_three, 6, (1, 2)).fits(())
    assert not network(three_and_three, 5, (1, 4)).fits(())


def test_fine_slices_are_inside_coarse_ones() -> None:
    racks = {"r1/n1": 3, "r1/n2": 1, "r2/n3": 2, "r2/n4": 2}

    assert network(racks, 4, (1, 4), (2, 2)).fits(())
    assert not network(racks, 8, (1, 4), (2, 2)).fits(())
    # The coarse slice of four, then two and one in another rack.
    assert network(racks, 7, (1, 4), (2, 2)).fits(())


def test_classes_are_packed_beside_each_other() -> None:
    nodes = ((("n1",), (("cpu", 3), ("gpu", 1))), (("n2",), (("cpu", 2),)))
    requests = ((("cpu", 2),), (("cpu", 1), ("gpu", 1)))
    both = Instance(nodes, requests, (2, 1))

    assert both.fits(())
    assert not both.of(2, 2).fits(())
    assert [("n1",)] == both.of(1, 1).lowest()
    assert 2 == both.fewest(1)


def test_a_node_that_has_too_little_takes_what_asks_for_nothing() -> None:
    full = Instance(((("n1",), (("cpu", -1),)),), ((("cpu", 0),),), (2,))

    assert full.fits(())
