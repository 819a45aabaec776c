"""What `make up` says."""

from gang_scheduler.demo.cluster import Page
from tools.demo.__main__ import about_page


def test_the_address_of_the_page_can_be_opened_as_it_is_printed() -> None:
    address = "http://127.0.0.1:8090/?key=once"

    assert about_page(Page(address)).endswith(f" {address}")
    assert "There is no page: no route" == about_page(Page("", "no route"))
