"""Prefix caches of real engines: one file an engine, one line in this registry."""

from collections.abc import Mapping

from analyzers.errors import UsageError
from analyzers.trace import RequestTable
from simulators.blocks import CachedSequences
from simulators.engines.engine import Engine, EngineRun, settle_options
from simulators.engines.llamacpp_slots import LLAMACPP_SLOTS
from simulators.engines.mooncake import MOONCAKE
from simulators.engines.sglang import SGLANG
from simulators.engines.trtllm_like import TRTLLM_LIKE
from simulators.engines.vllm import VLLM, VLLM_0_11

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (VLLM, VLLM_0_11, SGLANG, TRTLLM_LIKE, LLAMACPP_SLOTS, MOONCAKE)
}


def find_engine(name: str) -> Engine:
    """The engine of that name. Raises UsageError with the names there are."""
    if name not in ENGINES:
        raise UsageError(f"'{name}' is no engine; there are {', '.join(ENGINES)}")
    return ENGINES[name]


def settled_options(name: str, given: Mapping[str, float]) -> dict[str, float]:
    """The options of an engine with its defaults where none are given. Raises UsageError for options that are
    unknown, missing, or outside what makes sense."""
    engine = find_engine(name)
    owners: dict[str, list[str]] = {}
    for other in ENGINES.values():
        for option in other.options:
            owners.setdefault(option, []).append(other.name)
    return settle_options(engine, given, owners)


def replay_engine(
    name: str, sequences: CachedSequences, requests: RequestTable, given: Mapping[str, float]
) -> EngineRun:
    """Hits of each request under an engine with the options given. Raises UsageError for options that are
    unknown, missing, or too small for the trace."""
    engine = find_engine(name)
    return engine.replay(engine, sequences, requests, settled_options(name, given))
