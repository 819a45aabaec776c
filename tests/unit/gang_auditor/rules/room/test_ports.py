"""Two pods with one port of a node."""

from support.audit_streams import Stream, bound, ended, node, pod


def test_one_port_twice_is_found() -> None:
    stream = Stream("ports")
    stream.see(node("n1"))
    stream.see(bound(pod("a", host_ports=(80, 443)), "n1"))
    stream.see(bound(pod("b", host_ports=(80,)), "n1"))

    assert [("ports", "Pod lab/b")] == stream.end()
    assert "bound to n1, where lab/a has host port TCP/80" == stream.found[0].message


def test_another_port_another_node_and_a_port_that_is_free_again_are_right() -> None:
    stream = Stream("ports")
    first = bound(pod("a", host_ports=(80,)), "n1")
    stream.see(first)
    stream.see(bound(pod("b", host_ports=(81,)), "n1"))
    stream.see(bound(pod("c", host_ports=(80,)), "n2"))
    stream.see(ended(first))
    stream.see(bound(pod("d", host_ports=(80,)), "n1"))

    assert [] == stream.end()


def test_two_addresses_share_a_port_unless_one_is_all_of_them() -> None:
    def listening(name: str, address: str) -> dict[str, object]:
        ports = [{"hostPort": 80, "hostIP": address}]
        return bound(pod(name, containers=[{"name": "main", "ports": ports}]), "n1")

    stream = Stream("ports")
    stream.see(listening("a", "10.0.0.1"), listening("b", "10.0.0.2"))
    assert [] == stream.end()

    stream.see(listening("c", "0.0.0.0"))  # noqa: S104 - nothing is listened on.
    assert [("ports", "Pod lab/c"), ("ports", "Pod lab/c")] == stream.end()


def test_what_another_scheduler_bound_at_the_same_time_is_not_held_against_this_one() -> None:
    stream = Stream("ports")
    other = pod("other", host_ports=(80,), schedulerName="default-scheduler")
    stream.see(bound(other, "n1", plan=None), bound(pod("ours", host_ports=(80,)), "n1"))

    assert [] == stream.end()
