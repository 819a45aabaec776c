"""Filters reject nodes for a pod. Each file follows one plugin of kube-scheduler.

Each filter has its own reasons, in kube-scheduler's words after "0/12 nodes are available:". Open
`resources` first.
"""
