"""HTTP/1.1 as far as short requests to one API server need it: most of a binding's CPU was here.

<<<<<<< HEAD
`client` sends a request over a connection that is free, or `dialing` makes one, by a `tunnel` if a
proxy is on the way; `channel` is such a connection, and `answers` puts together what it brings. The
parser is llhttp, by httptools.
=======
`client` sends a request over a free connection, or over a new one that `address` dials, through
`proxy` if there is one; `channel` is a connection, and `answers` assembles answers from its bytes.
The parser is llhttp, by httptools.
>>>>>>> 9ba31b4 (Say pod, gang, node and claim in the prose of client)
"""
