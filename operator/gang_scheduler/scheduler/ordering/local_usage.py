"""In a queue that shares by past use: the LocalQueue that used least of late comes first."""

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Accounts, Share, share_of


def share(accounts: Accounts, group: GangGroup) -> Share:
    """Return what the LocalQueue of a group used of late, by weight; smaller sorts first.

    The largest part that it used of what its tree is promised counts. The same for all groups of a
    queue that does not share so.
    """
    local = group.gangs[0].local_queue
    recent = accounts.usage.local_recent.get(local.key) if local is not None else None
    row = accounts.promises.trees.rows.get(group.queue) if group.queue is not None else None
    if local is None or recent is None or row is None:
        return NO_SHARE
    root, by_resource = accounts.promises.trees.root(row), accounts.promises.by_resource(row)
    shares = []
    for resource, amount in sorted(recent.items()):
        keys = by_resource.get(resource, ())
        promised = sum(accounts.promises.terms[fr].promised[root] for fr in keys)
        if promised:
            shares.append(share_of(amount, promised, local.weight))
    return max(shares, default=NO_SHARE)
