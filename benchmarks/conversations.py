"""Paths of a large log without its text: conversations that grow turn by turn, for questions of scale.

Applications are as popular as Zipf's law says, each with a system prompt of its own; conversations arrive at random,
and each turn sends the history again and adds to it. The same seed gives the same paths.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from analyzers.trace import Int64
from simulators.blocks import CachedSequences
from simulators.kernels.paths import first_touch


@dataclass(frozen=True)
class Conversations:
    """What a sweep needs of a log: the paths, and the time of each request (int64 nanoseconds)."""

    sequences: CachedSequences
    time_ns: Int64


def conversations(requests: int, seed: int = 1, applications: int = 50) -> Conversations:
    """So many requests: prompts of some thousand tokens, 8 turns a conversation on average, 30 s between turns."""
    chance = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, applications + 1)
    parent = [-1] * applications
    start = [0] * applications
    end = [int(tokens) for tokens in chance.lognormal(7.0, 0.8, applications)]
    added = chance.lognormal(5.5, 0.9, requests).astype(np.int64) + 8
    pause = chance.exponential(30.0, requests)
    goes_on = chance.random(requests) < 7 / 8
    chosen = chance.choice(applications, requests, p=popularity / popularity.sum())
    arrivals = np.cumsum(chance.exponential(0.25, requests))
    leaf = np.empty(requests, np.int32)
    time_s = np.empty(requests)
    # One entry a live conversation: time of its next request, the node its history ends in.
    live: list[tuple[float, int]] = []
    arrived = 0
    for request in range(requests):
        while arrived < requests and (not live or live[0][0] > arrivals[arrived]):
            heapq.heappush(live, (float(arrivals[arrived]), int(chosen[arrived])))
            arrived += 1
        time_s[request], history = heapq.heappop(live)
        parent.append(history)
        start.append(end[history])
        end.append(end[history] + int(added[request]))
        leaf[request] = len(parent) - 1
        if goes_on[request]:
            heapq.heappush(live, (time_s[request] + float(pause[request]), len(parent) - 1))
    parents, ends = np.array(parent, np.int32), np.array(end, np.int32)
    prompt = ends[leaf].astype(np.int64)
    sequences = CachedSequences(
        parent=parents,
        depth_start=np.array(start, np.int32),
        depth_end=ends,
        first_request=first_touch(parents, leaf),
        leaf=leaf,
        prompt_tokens=prompt,
        known_tokens=prompt,
        total_tokens=prompt,
        unit=1,
    )
    return Conversations(sequences, (time_s * 1e9).astype(np.int64))
