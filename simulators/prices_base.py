"""The genai-prices data as price rules: which model a name means, and what its tokens cost.

The data is bundled with the installed genai-prices package; nothing is fetched.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from simulators.bedrock_ids import is_bedrock_id
from simulators.prices import KnownModel, PriceRule, Rates

_ALIASES = {
    "gemini": "google",
    "vertex": "google",
    "vertex_ai": "google",
    "bedrock": "aws",
    "amazon-bedrock": "aws",
    "xai": "x-ai",
    "azure_openai": "azure",
    "moonshot": "moonshotai",
    "kimi": "moonshotai",
    "mistralai": "mistral",
    "fireworks_ai": "fireworks",
    "together_ai": "together",
}
# A log's provider is often just the API spoken; a model these do not sell is looked up at its maker.
_API_NAMES = {"openai", "anthropic", "google", "deepseek", "mistral", "cohere", "aws", None}
_LAYER = "genai-prices"


@cache
def base_catalogue(provider: str | None, model: str) -> KnownModel | None:
    """The model that this name means at this provider (None: any), with its rules, or None.

    An id that only Bedrock gives out is Bedrock's, whatever API the provider stands for.
    """
    name = model.lower()
    wanted = _ALIASES.get((provider or "").lower(), (provider or "").lower()) or None
    maker, slash, bare = name.partition("/")
    sellers = _sellers()
    attempts = [(wanted, name)]
    last = name.rpartition("/")[2]
    if is_bedrock_id(last):
        attempts.insert(0, ("aws", last))
    if slash:
        attempts += [(wanted, bare), (_ALIASES.get(maker, maker), bare)]
    if wanted in _API_NAMES or wanted not in sellers:
        attempts += [(seller, bare or name) for seller in _makers_of(bare or name)]
    for seller, words in attempts:
        found = (
            sellers[seller].find_model(words, all_providers=list(sellers.values()))
            if seller in sellers
            else None
        )
        if found is not None:
            return KnownModel(str(seller), found.id, tuple(_rules(str(seller), found)))
    return None


def seller_names() -> list[str]:
    """Everyone whose prices the data has."""
    return list(_sellers())


@cache
def model_names() -> tuple[str, ...]:
    """What the models of the data are called, each once, without the maker's name in front of a slash."""
    models = (model.id.lower() for seller in _sellers().values() for model in seller.models)
    return tuple(dict.fromkeys(name.rpartition("/")[2] for name in models))


@cache
def _sellers() -> dict[str, Any]:
    from genai_prices.data import providers

    return {provider.id: provider for provider in providers}


def _makers_of(name: str) -> Iterator[str]:
    for seller, data in _sellers().items():
        if data.model_match is not None and data.model_match.is_match(name):
            yield seller


def _rules(seller: str, model: Any) -> Iterator[PriceRule]:
    names = (model.id.lower(),)
    default_ttl = _default_ttl(model.id)
    priced = model.prices if isinstance(model.prices, list) else [None]
    for conditional in priced:
        prices = model.prices if conditional is None else conditional.prices
        limits = {} if conditional is None else _limits(conditional.constraint)
        listed, above = _rates(prices, default_ttl)
        yield PriceRule(names, seller, listed, above, source=_LAYER, layer=_LAYER, **limits)
    # The first fitting variant wins there, the last one here.
    for variant in reversed(model.price_variants or []):
        aspects = {
            "tier": variant.when.get("service_tier") or variant.when.get("processing"),
            "speed": variant.when.get("speed"),
        }
        if len(variant.when) == 1 and any(aspects.values()):
            listed, above = _rates(variant.prices, default_ttl)
            limits = _limits(variant.constraint)
            yield PriceRule(names, seller, listed, above, source=_LAYER, layer=_LAYER, **aspects, **limits)


def _limits(constraint: Any) -> dict[str, Any]:
    if constraint is None:
        return {}
    if hasattr(constraint, "start_date"):
        return {"start": constraint.start_date}
    return {
        "hours": ((constraint.start_time.replace(tzinfo=None), constraint.end_time.replace(tzinfo=None)),)
    }


def _default_ttl(model: str) -> int:
    """The lifetime that the data's plain write price is for: 30 min from GPT-5.6 on, else 5 min."""
    return 1800 if "gpt-" in model else 300


def _rates(prices: Any, default_ttl: int) -> tuple[Rates, tuple[tuple[int, Rates], ...]]:
    keys = {
        "input": prices.input_mtok,
        "output": prices.output_mtok,
        "read": prices.cache_read_mtok,
        default_ttl: prices.cache_write_mtok,
        3600: prices.cache_write_1h_mtok,
    }
    starts = sorted({tier.start for price in keys.values() for tier in getattr(price, "tiers", ())})

    def at(tokens: int) -> Rates:
        known = {key: _price_at(price, tokens) for key, price in keys.items() if price is not None}
        return Rates(
            known.get("input"),
            known.get("output"),
            known.get("read"),
            {ttl: known[ttl] for ttl in (default_ttl, 3600) if ttl in known},
        )

    return at(0), tuple((start, at(start + 1)) for start in starts)


def _price_at(price: Any, tokens: int) -> Any:
    """The price per million tokens in a prompt of so many: tiers start above their threshold."""
    if not hasattr(price, "tiers"):
        return price
    return next((tier.price for tier in reversed(price.tiers) if tokens > tier.start), price.base)
