"""Connections that end as tests want it."""

import socket
import struct

AT_ONCE = struct.pack("ii", 1, 0)


def reset(connected: socket.socket) -> None:
    """Close a connection so that the other side sees a reset."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    connected.close()
