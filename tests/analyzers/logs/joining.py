"""A log read in shards and slices and put together again, to be held against one reading."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.logs.account import merged_log, row_order
from analyzers.logs.omitted_zeros import fill_omitted_zeros
from analyzers.request import Log, Part, Request
from analyzers.shards.plan import Plan, plan_shards, read_at_once
from analyzers.shards.slices import LogSlice, needs_reading_together, read_slices


def read_joined(
    inputs: Sequence[str],
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    strict: bool = False,
    shard_bytes: int = 1,
    slice_bytes: int = 1,
) -> Log:
    """What `read_log` gives, from slices. The sizes of 1 cut wherever the formats let a shard or a slice end."""
    plan = plan_shards(inputs, format, mapping, strict=strict, shard_bytes=shard_bytes)
    slices = all_slices(plan, slice_bytes)
    if needs_reading_together([each.account for each in slices]):
        slices = all_slices(read_at_once(plan), slice_bytes)
    return joined(slices)


def all_slices(plan: Plan, slice_bytes: int) -> list[LogSlice]:
    """Those of all shards, in order."""
    return [each for shard in plan.shards for each in read_slices(shard, plan.options, slice_bytes)]


def joined(slices: Sequence[LogSlice]) -> Log:
    """One log of slices."""
    accounts = [each.account for each in slices]
    log = merged_log(accounts)
    requests = [request for each in slices for request in each.log.requests]
    log.requests = [requests[place] for place in row_order(accounts)]
    fill_omitted_zeros(log)
    return log


def told(log: Log) -> dict[str, Any]:
    """All that a log says, as values that can be compared."""
    return {
        "requests": [told_of_request(request) for request in log.requests],
        "records": log.records,
        "merged": log.merged,
        "skipped": list(log.skipped.items()),
        "examples": log.examples,
        "formats": list(log.formats.items()),
        "notes": log.notes,
        "unit": log.unit,
        "prompts_incomplete": log.prompts_incomplete,
    }


def told_of_request(request: Request) -> tuple[Any, ...]:
    """All fields of a request; of its parts their bytes."""
    fields = [getattr(request, name) for name in Request.__slots__ if name not in ("parts", "output")]
    return (*fields, [_told_of_part(part) for part in request.parts], _told_of_part(request.output))


def _told_of_part(part: Part | None) -> tuple[str, str, bytes] | None:
    return None if part is None else (part.dialect, part.kind, part.raw)
