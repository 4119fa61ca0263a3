"""One row's raw usage counters, in any provider's or gateway's words, as one inclusive `Usage`.

Inclusive: prompt = uncached + read + written. Whether a row counts its cached tokens inside or beside its
input is decided by the row's own total where it has one, then by what its field names are documented to
mean, never by the vendor's name: gateways rewrite the same counters either way.

Sources of the field meanings (read November 2026): the Messages, Chat Completions, Responses, Converse,
generateContent and DeepSeek API references; OpenTelemetry GenAI and OpenInference conventions; the usage
objects of LiteLLM, LangChain, the Vercel AI SDK, inspect_ai and Codex as seen in public logs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

UNSTATED_TTL: Final = 0
"""The key in `Usage.written` for written tokens whose lifetime the row does not state."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call reports, in tokens, inclusive. None = the row does not say; never a stand-in for 0."""

    prompt_tokens: int | None = None
    read_tokens: int | None = None
    written: Mapping[int, int] | None = None
    """Lifetime in seconds -> tokens written with it; UNSTATED_TTL where the row gives only a sum."""
    output_tokens: int | None = None
    service_tier: str | None = None
    """The tier the provider says it billed: standard, batch, flex, priority …"""
    speed: str | None = None
    inference_geo: str | None = None
    reported_cost: Decimal | None = None
    """What the row itself says the call cost, in dollars."""
    counted_beside: bool | None = field(default=None, compare=False)
    """Whether the row counted its cached tokens beside its input; None where it has none to count."""
    problems: tuple[str, ...] = ()
    """Figures that cannot be right, one sentence each; the figures stand as they were reported."""

    @property
    def written_tokens(self) -> int | None:
        return None if self.written is None else sum(self.written.values())

    @property
    def uncached_tokens(self) -> int | None:
        """Prompt tokens neither read nor known to be written; None when prompt or read is not known."""
        if self.prompt_tokens is None or self.read_tokens is None:
            return None
        return self.prompt_tokens - self.read_tokens - (self.written_tokens or 0)


_PROMPT = ("prompttokens", "prompttokencount", "totalinputtokens", "inputtokens", "prompt", "input")
_OUTPUT = (
    "completiontokens",
    "outputtokens",
    "totaloutputtokens",
    "candidatestokencount",
    "completion",
    "output",
)
_THOUGHTS = ("thoughtstokencount", "totalthoughttokens")
_TOTAL = ("totaltokens", "totaltokencount", "total")
_READ = (
    "prompttokensdetails.cachedtokens",
    "inputtokensdetails.cachedtokens",
    "inputtokendetails.cacheread",
    "inputtokendetails.cachereadtokens",
    "promptdetails.cacheread",
    "cacheread.inputtokens",
    "cachedcontenttokencount",
    "totalcachedtokens",
    "promptcachehittokens",
    "cachedinputtokens",
    "inputtokenscacheread",
    "cachedtokens",
    "numcachedtokens",
    "cachereadinputtokens",
    "cachereadinputtokencount",
)
_WRITTEN = (
    "prompttokensdetails.cachewritetokens",
    "prompttokensdetails.cachecreationinputtokens",
    "prompttokensdetails.cachecreationtokens",
    "inputtokensdetails.cachewritetokens",
    "inputtokendetails.cachecreation",
    "inputtokendetails.cachewritetokens",
    "promptdetails.cachewrite",
    "cachecreation.inputtokens",
    "inputtokenscachewrite",
    "cachecreationinputtokens",
    "cachewriteinputtokens",
    "cachewriteinputtokencount",
)
_WRITTEN_BY_TTL = (
    {"cachecreation.ephemeral5minputtokens": 300, "cachecreation.ephemeral1hinputtokens": 3600},
    {
        "prompttokensdetails.cachecreationtokendetails.ephemeral5minputtokens": 300,
        "prompttokensdetails.cachecreationtokendetails.ephemeral1hinputtokens": 3600,
    },
    {
        "inputtokensdetails.cachewritetokensdetails.ttl30mtokens": 1800,
        "inputtokensdetails.cachewritetokensdetails.ttl12htokens": 43200,
    },
    {
        "prompttokensdetails.cachewritetokensdetails.ttl30mtokens": 1800,
        "prompttokensdetails.cachewritetokensdetails.ttl12htokens": 43200,
    },
)
# Messages and Converse count these beside their input; the same names appear inside it in rewritten rows.
_DOCUMENTED_BESIDE = {"inputtokens", "input"}
_BESIDE_NAMES = {
    "cachereadinputtokens",
    "cachereadinputtokencount",
    "cachecreationinputtokens",
    "cachewriteinputtokens",
    "cachewriteinputtokencount",
}
_PREFIXES = ("llm.token_count.", "gen_ai.usage.")
_TTL_SECONDS = {"5m": 300, "30m": 1800, "1h": 3600, "12h": 43200}


def normalise_usage(raw: Mapping[str, Any] | None) -> Usage:
    """The inclusive `Usage` of one raw usage object; an empty Usage when there is none.

    Never raises: a counter that is no whole number counts as missing and is named in `problems`.
    """
    if not raw:
        return Usage()
    problems: list[str] = []
    texts: dict[str, str] = {}
    counters = dict(_counters("", raw, problems, texts))
    prompt_name, prompt = _first(counters, _PROMPT)
    read_name, read = _first(counters, _READ)
    written_name, written_total = _first(counters, _WRITTEN)
    output = _output_tokens(counters)
    _, total = _first(counters, _TOTAL)

    written = _written_by_ttl(counters, raw, written_total, problems)
    if written is not None:
        written_total = sum(written.values())
    miss = counters.get("promptcachemisstokens")
    if prompt is None and read is not None and miss is not None:
        prompt = read + miss
    counted_beside: bool | None = None
    if prompt is not None:
        documented_beside = prompt_name in _DOCUMENTED_BESIDE and (
            read_name in _BESIDE_NAMES or written_name in _BESIDE_NAMES
        )
        named_beside = read_name in _BESIDE_NAMES or written_name in _BESIDE_NAMES
        cached = (read or 0) + (written_total or 0)
        beside = _counted_beside(prompt, cached, output, total, documented_beside, named_beside)
        counted_beside = beside if cached else None
        if beside:
            prompt += cached
            if documented_beside and (read is None or written_total is None):
                missing = "read" if read is None else "written"
                problems.append(f"the row does not state its {missing} tokens, so its prompt may be larger")
        if read is not None and miss is not None and read + miss != prompt:
            problems.append(f"hit {read} + miss {miss} tokens are not the {prompt} tokens of the prompt")
        if read is not None and read > prompt:
            problems.append(f"{read} tokens read from a prompt of {prompt}")
        elif cached > max(prompt, 0):
            problems.append(f"{read} tokens read and {written_total} written in a prompt of {prompt}")
    problems += [f"{name} is negative" for name, value in counters.items() if value < 0]
    return Usage(
        prompt_tokens=prompt,
        read_tokens=read,
        written=written,
        output_tokens=output,
        service_tier=texts.get("servicetier"),
        speed=texts.get("speed"),
        inference_geo=_stated_geo(texts.get("inferencegeo")),
        reported_cost=_cost(raw.get("cost")),
        counted_beside=counted_beside,
        problems=tuple(problems),
    )


def _counted_beside(
    prompt: int, cached: int, output: int | None, total: int | None, documented: bool, named: bool
) -> bool:
    """Whether the row's input excludes its cached tokens."""
    if cached == 0:
        return documented
    if total is not None and output is not None:
        if total == prompt + cached + output:
            return True
        if total == prompt + output and cached <= prompt:
            return False
    # Counters with these names larger than the input they came with can only stand beside it.
    return documented or (named and cached > prompt)


def _counters(
    path: str, raw: Mapping[str, Any], problems: list[str], texts: dict[str, str]
) -> Iterator[tuple[str, int]]:
    """(dotted name without case and underscores, whole number) of every counter in the object."""
    for key, value in raw.items():
        if not isinstance(key, str):
            continue
        name = path + _plain_name(key)
        if isinstance(value, int) and not isinstance(value, bool):
            yield name, value
        elif isinstance(value, float) and value.is_integer():
            yield name, int(value)
        elif isinstance(value, str):
            texts[name] = value
            if name in _PROMPT or name in _READ or name in _WRITTEN or name in _OUTPUT:
                problems.append(f"{key} is text, not a number")
        elif isinstance(value, Mapping):
            yield from _counters(f"{name}.", value, problems, texts)


@lru_cache(maxsize=4096)
def _plain_name(key: str) -> str:
    for prefix in _PREFIXES:
        key = key.removeprefix(prefix)
    return key.replace("_", "").lower()


def _first(counters: Mapping[str, int], names: tuple[str, ...]) -> tuple[str | None, int | None]:
    for name in names:
        if name in counters:
            return name, counters[name]
    return None, None


def _output_tokens(counters: Mapping[str, int]) -> int | None:
    """Output as billed: Gemini counts its thoughts beside the candidates, all others inside."""
    _, output = _first(counters, _OUTPUT)
    _, thoughts = _first(counters, _THOUGHTS)
    if output is None and thoughts is None:
        return None
    return (output or 0) + (thoughts or 0)


def _written_by_ttl(
    counters: Mapping[str, int], raw: Mapping[str, Any], total: int | None, problems: list[str]
) -> dict[int, int] | None:
    split = _converse_split(raw)
    for names in _WRITTEN_BY_TTL:
        split = split or {ttl: counters[name] for name, ttl in names.items() if name in counters}
    if not split:
        return None if total is None else {UNSTATED_TTL: total}
    if total is not None and sum(split.values()) != total:
        problems.append(f"written tokens by lifetime add to {sum(split.values())}, the row says {total}")
        # The part no lifetime accounts for stays visible; a split above its sum is kept as it is.
        if total > sum(split.values()):
            split[UNSTATED_TTL] = total - sum(split.values())
    return split


def _converse_split(raw: Mapping[str, Any]) -> dict[int, int]:
    split: dict[int, int] = {}
    details = raw.get("cacheDetails")
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, Mapping) and isinstance(detail.get("inputTokens"), int):
            ttl = _TTL_SECONDS.get(str(detail.get("ttl")), UNSTATED_TTL)
            split[ttl] = split.get(ttl, 0) + detail["inputTokens"]
    return split


def _stated_geo(geo: str | None) -> str | None:
    return None if geo == "not_available" else geo


def _cost(value: Any) -> Decimal | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return None
