"""An API server in Python with its objects in memory, for the demo and for quick tests.

Open `server` first; the objects are in the store of `client.fake`, so the fake client and this
server serve one cluster. The server refuses requests that it does not know (404, 405, 415, 501),
and has no rights, no TLS and no rules in CEL. In everything else it behaves like a real one, which
contract tests check.
"""
