"""Statuses, notes and metrics of queues, made from figures passed in. Open `status` first."""
