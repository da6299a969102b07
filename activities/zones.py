"""The table of a time zone, from the worker's data base."""

import asyncio

from temporalio import activity

from perdure.contract import ZONE, ZoneFound, ZoneRef
from perdure.zones import fault, look_up


@activity.defn(name=ZONE)
async def zone(ref: ZoneRef) -> ZoneFound:
    """Its table, or what is wrong with its name."""
    found = await asyncio.to_thread(look_up, ref.name, ref.at)
    return ZoneFound(zone=found, fault=fault(ref.name))
