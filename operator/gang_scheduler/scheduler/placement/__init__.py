"""Where members go.

`gangs.py` places members that may be anywhere: `binpack.py` and `spread.py` choose the nodes.
`gather.py` places those that ask something of the network.
"""
