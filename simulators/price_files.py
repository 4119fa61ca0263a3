"""Price sources as `PriceRule`s: the bundled overlay, a user's file, a LiteLLM price file, genai-prices.

A user's file is YAML or JSON in one of three shapes, told apart by what it holds:

* a map from model name to prices per million tokens:  `{my-model: {input: 3, output: 15, read: 0.3, write5m: 3.75}}`
* a list under `prices:` with everything the overlay can say (conditions, multiples, sources): see docs/providers.md
* LiteLLM's `model_prices_and_context_window.json`, prices per token
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from analyzers.errors import InputError
from simulators.prices import PriceBook, PriceRule, Rates
from simulators.prices_base import base_catalogue

OVERLAY = Path(__file__).with_name("prices_overlay.yaml")
_WEEKDAYS = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LITELLM_COST = re.compile(
    r"(?P<kind>input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost)"
    r"(?:_above_(?P<hours>\d+)hr)?(?:_above_(?P<thousands>\d+)k_tokens)?(?:_(?P<tier>batches|flex|priority))?"
)


class _Amounts(msgspec.Struct, forbid_unknown_fields=True):
    """Prices, factors or multiples as they stand in a file."""

    input: Decimal | None = None
    output: Decimal | None = None
    read: Decimal | None = None
    written: dict[str, Decimal] | Decimal = {}
    storage_hour: Decimal | None = None
    above_tokens: int | None = None


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "until"}):
    models: list[str]
    provider: str | None = None
    per_mtok: _Amounts | None = None
    above: list[_Amounts] = []
    times: _Amounts | None = None
    of_input: _Amounts | None = None
    start: date | None = None
    end: date | None = None
    hours: list[str] = []
    weekdays: list[str] = []
    except_dates: list[date] = []
    tier: str | None = None
    speed: str | None = None
    region: str | None = None
    source: str = ""
    confidence: str = ""


class _PriceList(msgspec.Struct, forbid_unknown_fields=True):
    prices: list[_Entry]
    as_of: date | None = None
    currency: str = "USD"


class _DecimalLoader(yaml.SafeLoader):
    """Safe YAML whose decimal numbers stay exact."""


def _exact(_: _DecimalLoader, node: yaml.ScalarNode) -> Decimal:
    return Decimal(node.value)


_DecimalLoader.add_constructor("tag:yaml.org,2002:float", _exact)


def load_price_book(user_files: Iterable[Path] = ()) -> PriceBook:
    """genai-prices under the bundled overlay under the user's files, later files stronger.

    Raises InputError for a file that cannot be read or says something no price can be.
    """
    overlay = _overlay()
    rules = [rule for file in user_files for rule in load_price_file(file)]
    return PriceBook(base_catalogue, [*overlay[1], *rules], overlay[0])


def load_price_file(path: Path) -> list[PriceRule]:
    """The rules of one price file in any of the three shapes. Raises InputError."""
    return _parse(_read(path), str(path))[1]


@cache
def _overlay() -> tuple[date, list[PriceRule]]:
    as_of, rules = _parse(_read(OVERLAY), "overlay")
    if as_of is None:
        raise InputError(f"{OVERLAY.name}: the bundled prices carry no date")
    return as_of, rules


def _read(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            return json.loads(text, parse_float=Decimal)
        return yaml.load(text, Loader=_DecimalLoader)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError, ArithmeticError) as problem:
        reason = " ".join(str(problem).split())
        raise InputError(f"{path}: cannot be read as a price file ({reason})") from problem


def _parse(document: Any, name: str) -> tuple[date | None, list[PriceRule]]:
    try:
        if isinstance(document, dict) and "prices" in document:
            listed = msgspec.convert(document, _PriceList, strict=False)
            return listed.as_of, [_rule(entry, listed.currency, name) for entry in listed.prices]
        if isinstance(document, dict) and document and all(isinstance(v, dict) for v in document.values()):
            if any("input_cost_per_token" in prices for prices in document.values()):
                return None, list(_litellm_rules(document, name))
            return None, [_simple_rule(model, prices, name) for model, prices in document.items()]
    except (msgspec.ValidationError, ValueError, ArithmeticError) as problem:
        raise InputError(f"{name}: {problem}") from problem
    raise InputError(
        f"{name}: holds no prices; write a map from model names to prices (see docs/providers.md)"
    )


def _rule(entry: _Entry, currency: str, layer: str) -> PriceRule:
    if (entry.per_mtok is None) + (entry.times is None) + (entry.of_input is None) != 2:
        raise ValueError(f"the entry for {entry.models} needs one of per_mtok, times, of_input")
    listed = _rates(entry.per_mtok, currency)
    above = sorted(
        (bracket.above_tokens or 0, listed.patched(_rates(bracket, currency))) for bracket in entry.above
    )
    return PriceRule(
        models=tuple(model.lower() for model in entry.models),
        provider=entry.provider,
        list=listed,
        above=tuple(above),
        factors=_rates(entry.times, currency) if entry.times else None,
        of_input=_rates(entry.of_input, currency) if entry.of_input else None,
        start=entry.start,
        end=entry.end,
        hours=tuple(_hours(text) for text in entry.hours),
        weekdays=frozenset(_weekday(day) for day in entry.weekdays),
        except_dates=frozenset(entry.except_dates),
        tier=entry.tier,
        speed=entry.speed,
        region=entry.region,
        source=entry.source,
        confidence=entry.confidence,
        layer=layer,
    )


def _rates(amounts: _Amounts | None, currency: str) -> Rates:
    if amounts is None:
        return Rates(currency=currency)
    written = amounts.written if isinstance(amounts.written, dict) else {"0s": amounts.written}
    stated = (amounts.input, amounts.output, amounts.read, amounts.storage_hour, *written.values())
    if any(amount is not None and not (amount.is_finite() and amount >= 0) for amount in stated):
        raise ValueError("a price is a number that is not negative")
    return Rates(
        amounts.input,
        amounts.output,
        amounts.read,
        {_seconds(ttl): amount for ttl, amount in written.items()},
        amounts.storage_hour,
        currency,
    )


def _seconds(ttl: str) -> int:
    match = re.fullmatch(r"(\d+)([smhd])", ttl)
    if match is None:
        raise ValueError(f"'{ttl}' is no lifetime; write 5m, 30m, 1h or 12h")
    return int(match[1]) * _SECONDS[match[2]]


def _weekday(name: str) -> int:
    if name.lower()[:3] not in _WEEKDAYS:
        raise ValueError(f"'{name}' is no weekday; write mon, tue, wed, thu, fri, sat or sun")
    return _WEEKDAYS[name.lower()[:3]]


def _hours(text: str) -> tuple[time, time]:
    start, _, end = text.partition("-")
    hours = time.fromisoformat(start.strip()), time.fromisoformat(end.strip())
    if any(clock.minute % 15 or clock.second for clock in hours):
        raise ValueError(f"'{text}': hours start and end at a quarter of an hour")
    return hours


def _simple_rule(model: str, prices: Mapping[str, Any], layer: str) -> PriceRule:
    """`{input, output, read|cached, write5m|write30m|write1h|write12h, per?, currency?}` per million tokens."""
    per = str(prices.get("per", "1M tokens USD")).split()
    if per[:2] != ["1M", "tokens"] or len(per) > 3:
        raise ValueError(f"{model}: prices are per '1M tokens', not '{' '.join(per)}'")
    currency = str(prices.get("currency", per[2] if len(per) == 3 else "USD"))
    written = {key.removeprefix("write"): value for key, value in prices.items() if key.startswith("write")}
    known = {"input", "output", "read", "cached", "per", "currency", "storage_hour"}
    unknown = [key for key in prices if key not in known and not key.startswith("write")]
    if unknown or "input" not in prices:
        raise ValueError(f"{model}: " + (f"'{unknown[0]}' is no price" if unknown else "has no input price"))
    amounts = {
        "input": prices["input"],
        "output": prices.get("output"),
        "read": prices.get("read", prices.get("cached")),
        "written": written,
        "storage_hour": prices.get("storage_hour"),
    }
    listed = _rates(msgspec.convert(amounts, _Amounts, strict=False), currency)
    return PriceRule(models=(model.lower(),), list=listed, source=layer, layer=layer)


def _litellm_rules(document: Mapping[str, Any], layer: str) -> Iterator[PriceRule]:
    """Rules of a LiteLLM price file. Its plain write price is that of the shortest lifetime."""
    for model, prices in document.items():
        if model == "sample_spec" or "input_cost_per_token" not in prices:
            continue
        # (tier, context threshold) -> kind of price -> money per million tokens
        found: dict[tuple[str | None, int], dict[str, Decimal]] = {}
        for key, value in prices.items():
            match = _LITELLM_COST.fullmatch(key)
            if match is None or value is None:
                continue
            kind = match["kind"] + (match["hours"] or "")
            tier = "batch" if match["tier"] == "batches" else match["tier"]
            threshold = int(match["thousands"] or 0) * 1000
            found.setdefault((tier, threshold), {})[kind] = Decimal(str(value)) * 1_000_000
        default_ttl = 1800 if "gpt-" in model else 300
        provider = prices.get("litellm_provider")
        for billed in sorted({tier for tier, _ in found}, key=str):
            listed = _litellm_rates(found.get((billed, 0), {}), default_ttl)
            above = tuple(
                (threshold, listed.patched(_litellm_rates(kinds, default_ttl)))
                for (other, threshold), kinds in sorted(found.items(), key=lambda item: item[0][1])
                if other == billed and threshold
            )
            source = f"LiteLLM price file ({provider})" if provider else "LiteLLM price file"
            yield PriceRule(
                (model.lower(),), list=listed, above=above, tier=billed, source=source, layer=layer
            )


def _litellm_rates(kinds: Mapping[str, Decimal], default_ttl: int) -> Rates:
    writes = {"": default_ttl, "1": 3600, "12": 43200}
    written = {
        ttl: kinds[f"cache_creation_input_token_cost{suffix}"]
        for suffix, ttl in writes.items()
        if f"cache_creation_input_token_cost{suffix}" in kinds
    }
    return Rates(
        kinds.get("input_cost_per_token"),
        kinds.get("output_cost_per_token"),
        kinds.get("cache_read_input_token_cost"),
        written,
    )
