"""The event loop of the operator: that of uvloop, in which each file descriptor has one owner."""

import socket
from typing import Any

import uvloop


class Loop(uvloop.Loop):
    """uvloop's, without its mistake with connections that break while they are made.

    If the first write of a TLS handshake fails, uvloop closes the descriptor of the socket that it
    was given and leaves the socket object as it is (MagicStack/uvloop#738 in part). The object
    closes that number once more when it is collected. By then another connection may have it, which
    is then dead without notice; each new socket of that number is refused (`File descriptor 19 is
    used by transport`), and in the end libuv aborts the process.
    """

    async def create_connection(
        self,
        *args: Any,  # noqa: ANN401 - handed on as they are.
        sock: socket.socket | None = None,
        **how: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return a transport and its protocol. A connected `sock` is the loop's from then on."""
        try:
            return await super().create_connection(*args, sock=sock, **how)
        finally:
            if sock is not None:
                sock.detach()
