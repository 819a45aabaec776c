"""Devices of dynamic resource allocation: on one node the answer of kube-scheduler's allocator.

Objects are read, selectors evaluated and devices chosen here, without I/O and without a clock. Open
`search` first.
"""
