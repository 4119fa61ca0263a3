"""The agents' log with one layout mistake in each of eight applications, and twelve that are as they should be.

Each mistake is planted by a function from a request and what varies to the request; `planted=False` gives the
twin in which the same requests have no mistake, which says what there is to gain.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from benchmarks.agent_log import agent_log

_STRETCH = 24
"""Time passes this many times as fast as in the agents' log, so that the date rolls over some times."""


@dataclass(frozen=True)
class Moment:
    """What varies from request to request: the time, a source of chance, and whose conversation it is."""

    time: datetime
    chance: random.Random
    customer: str


Body = dict[str, Any]
Plant = Callable[[Body, Moment], None]


def _first_line(line: Callable[[Moment], str]) -> Plant:
    def plant(body: Body, moment: Moment) -> None:
        system = body["messages"][0]
        system["content"] = f"{line(moment)}\n{system['content']}"

    return plant


def _time_at_tail(body: Body, moment: Moment) -> None:
    body["messages"][0]["content"] += f"\nThe time is {moment.time.isoformat(timespec='seconds')}."


def _shuffle_tools(body: Body, moment: Moment) -> None:
    moment.chance.shuffle(body["tools"])


def _shuffle_keys(body: Body, moment: Moment) -> None:
    for tool in body["tools"]:
        members = list(tool["function"].items())
        moment.chance.shuffle(members)
        tool["function"] = dict(members)


PLANTS: dict[str, tuple[int, Plant]] = {
    "timestamp first line": (
        0,
        _first_line(lambda m: f"Current time: {m.time.isoformat(timespec='milliseconds')}"),
    ),
    "timestamp first line, with tools": (
        3,
        _first_line(lambda m: f"Now: {m.time.isoformat(timespec='seconds')}"),
    ),
    "request id first line": (1, _first_line(lambda m: f"Request {m.chance.getrandbits(64):016x}")),
    "customer id first line": (2, _first_line(lambda m: f"You are talking to customer {m.customer}.")),
    "tools shuffled": (7, _shuffle_tools),
    "timestamp at the tail of the system prompt": (4, _time_at_tail),
    "keys of tools shuffled": (6, _shuffle_keys),
    "date line": (5, _first_line(lambda m: f"Today is {m.time:%A, %d %B %Y}.")),
}
"""By name: the number of tools that its application has (as number modulo 4), and how it is planted."""


@dataclass(frozen=True)
class PlantedRequest:
    """A line of the log, and the mistake it carries (None in a clean application)."""

    line: str
    plant: str | None


def planted_log(requests: int, seed: int = 1, planted: bool = True) -> Iterator[PlantedRequest]:
    """The requests in time order, with their mistakes or, in the same order, without."""
    applications: dict[str, str | None] = {}
    free = {name: (0, 3, 5, 8)[slot % 4] for name, (slot, _) in PLANTS.items()}
    begin: datetime | None = None
    for number, line in enumerate(agent_log(requests, seed)):
        record = json.loads(line)
        body = record["request"]
        time = datetime.fromisoformat(record["timestamp"])
        begin = begin or time
        time = begin + timedelta(seconds=(time - begin).total_seconds() * _STRETCH)
        system = body["messages"][0]["content"]
        if system not in applications:
            tools = len(body.get("tools", ()))
            applications[system] = next((name for name, count in free.items() if count == tools), None)
            free.pop(applications[system] or "", None)
        name = applications[system]
        if name is not None and planted:
            opening = hashlib.sha256(body["messages"][1]["content"].encode()).hexdigest()
            moment = Moment(
                time, random.Random(seed * 1_000_003 + number), f"user-{int(opening[:8], 16) % 100_000:05d}"
            )
            PLANTS[name][1](body, moment)
        record["timestamp"] = time.isoformat(timespec="milliseconds")
        yield PlantedRequest(json.dumps(record), name)
