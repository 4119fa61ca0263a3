"""Random logs that share prefixes the way conversations do, and the slow, obvious cache they are checked against."""

from collections import OrderedDict
from dataclasses import dataclass, field

from hypothesis import strategies as st

from analyzers.trace import Trace
from tests.trace_builder import trace_from_tokens


@dataclass(frozen=True)
class TokenLog:
    """Prompts and outputs as token ids, with start times in seconds and a namespace each."""

    prompts: list[list[int]] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)

    def trace(self) -> Trace:
        return trace_from_tokens(self.prompts, self.outputs, self.times, self.namespaces)

    def kept(self, request: int) -> list[int]:
        """What a cache keeps: the last sampled token has no KV."""
        return self.prompts[request] + self.outputs[request][:-1]


@st.composite
def token_logs(draw: st.DrawFn, most_requests: int = 14, most_tokens: int = 12) -> TokenLog:
    """A log in which prompts continue, repeat or leave earlier sequences; two token values, so that outputs and
    prompts also meet by chance."""
    log = TokenLog()
    tokens = st.lists(st.integers(0, 1), max_size=most_tokens)
    now = 0.0
    for request in range(draw(st.integers(1, most_requests))):
        base: list[int] = []
        namespace = draw(st.sampled_from("aab"))
        if request and draw(st.booleans()):
            other = draw(st.integers(0, request - 1))
            namespace = log.namespaces[other]
            base = log.kept(other)
            base = base[: draw(st.integers(0, len(base)))] if draw(st.booleans()) else base
        now += draw(st.integers(0, 5))
        log.prompts.append(base + draw(tokens))
        log.outputs.append(draw(st.lists(st.integers(0, 1), max_size=5)))
        log.times.append(now)
        log.namespaces.append(namespace)
    return log


@dataclass(frozen=True)
class BlockRequest:
    """One request as a block cache sees it: the keys of its known blocks, and lengths in tokens."""

    keys: list[object]
    prompt: int
    total: int
    time: float = 0.0


@dataclass(frozen=True)
class DirectResult:
    """Hit tokens a request, and blocks written although they were in the cache."""

    hits: list[int]
    duplicate_writes: int


def direct_lru(requests: list[BlockRequest], size: int, capacity: int, ttl: float | None) -> DirectResult:
    """LRU over keys, one request after another. Blocks of outputs whose ids are unknown take room too."""
    cache: OrderedDict[object, float] = OrderedDict()
    hits, duplicates = [], 0
    for number, request in enumerate(requests):
        if ttl is not None:
            # The oldest stands first, so expired keys do.
            while cache and request.time - next(iter(cache.values())) > ttl:
                cache.popitem(last=False)
        hit = 0
        most = min(max(request.prompt - 1, 0) // size, len(request.keys))
        while hit < most and request.keys[hit] in cache:
            hit += 1
        hits.append(hit * size)
        duplicates += sum(key in cache for key in request.keys[hit:])
        unknown = [(number, k) for k in range(request.total // size - len(request.keys))]
        keys = [*request.keys, *unknown]
        for key in keys:
            cache.pop(key, None)
        while len(cache) > capacity - -(-request.total // size):
            cache.popitem(last=False)
        for key in reversed(keys):
            cache[key] = request.time
    return DirectResult(hits, duplicates)


def block_requests(log: TokenLog, size: int) -> list[BlockRequest]:
    """The log in blocks, known by their whole prefix."""
    requests = []
    for r, prompt in enumerate(log.prompts):
        kept = log.kept(r)
        keys = [(log.namespaces[r], tuple(kept[: (k + 1) * size])) for k in range(len(kept) // size)]
        requests.append(BlockRequest([*keys], len(prompt), len(kept), log.times[r]))
    return requests
