"""Reads objects of `resource.k8s.io`, and lists their invalid and unsupported fields.

Open `objects` first.
"""
