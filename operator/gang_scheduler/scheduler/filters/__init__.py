"""Filters: what makes a node refuse a pod, one file for each upstream plugin that it follows.

Each filter has its own reasons, in kube-scheduler's words after "0/12 nodes are available:". Open
`resources` first.
"""
