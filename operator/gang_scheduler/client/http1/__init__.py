"""HTTP/1.1 as far as short requests to one API server need it: most of a binding's CPU was here.

`client` sends a request over a connection that is free, or `dialing` makes one, by a `tunnel` if a
proxy is on the way; `channel` is such a connection, and `answers` puts together what it brings. The
parser is llhttp, by httptools.
"""
