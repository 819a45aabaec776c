"""By what right a gang gives way to another one."""

from gang_scheduler.model.evictions import EvictionClass


def test_every_class_has_a_name_that_is_shown() -> None:
    assert [each.shown for each in EvictionClass] == [
        "Overrun",
        "Reclaim",
        "InQueue",
        "WhileBorrowing",
        "FairShare",
        "FairShare",
    ]


def test_classes_compare_in_their_order() -> None:
    assert EvictionClass.OVERRUN < EvictionClass.RECLAIM < EvictionClass.IN_QUEUE


def test_the_classes_of_borrowers_weigh_the_same() -> None:
    assert [each.weight for each in EvictionClass] == [0, 1, 2, 3, 3, 3]
