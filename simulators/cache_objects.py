"""Whether calls that start from a shared cache object found it as they left it.

Some libraries hand the caller a cache object that grows in place with every call (`past_key_values` of transformers
is one): the next call that means to start from the shared prefix then starts from the prefix and a stranger's tokens.
That is wrong content, not a hit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analyzers.request import Request


@dataclass(frozen=True)
class MutatedCache:
    """A call whose cache object held more (or less) than the prefix it was to start from."""

    call: str
    cache_object: str
    prefix_tokens: int
    found_tokens: int

    @property
    def surplus_tokens(self) -> int:
        return self.found_tokens - self.prefix_tokens


def has_cache_objects(requests: Sequence[Request]) -> bool:
    """Whether the log is one of cache objects."""
    return any(name == "cache_len_before" for r in requests[:1] for name, _ in r.identity.labels)


def mutated_caches(requests: Sequence[Request]) -> list[MutatedCache]:
    """The calls whose cache object was not as long as their prefix, in order."""
    found = []
    for request in requests:
        labels = dict(request.identity.labels)
        if {"cache_object", "prefix_tokens", "cache_len_before"} <= labels.keys():
            prefix, length = int(labels["prefix_tokens"]), int(labels["cache_len_before"])
            if length != prefix:
                found.append(MutatedCache(request.request_id, labels["cache_object"], prefix, length))
    return found
