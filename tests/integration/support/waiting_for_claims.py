"""Gangs that wait for their claims."""

import asyncio

from support.volume_harness import VolumeHarness

SIZE = 3


async def held(harness: VolumeHarness, size: int = SIZE, **makes: float) -> None:
    """Plan a gang with claims whose volumes take so long to be made, and let its writes settle."""
    harness.makes = makes
    harness.gang_with_claims("a", size)
    await harness.quiet()
    harness.cycle()
    await asyncio.sleep(2)
