"""Gangs that wait for their claims."""

import asyncio

from cluster.disks import DiskRig

SIZE = 3


async def held(rig: DiskRig, size: int = SIZE, **makes: float) -> None:
    """Plan a gang with claims whose volumes take so long to be made, and let its writes settle."""
    rig.makes = makes
    rig.gang_with_claims("a", size)
    await rig.quiet()
    rig.cycle()
    await asyncio.sleep(2)
