"""How money and lifetimes are written for people."""

from decimal import ROUND_HALF_UP, Decimal


def money(amount: Decimal | None, currency: str = "USD") -> str:
    """`$1,234.56`, `$0.0386`, `CNY 0.70`; "unknown" for None. Small sums keep four significant
    digits; a half is rounded up."""
    if amount is None:
        return "unknown"
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    unit = "$" if currency == "USD" else f"{currency} "
    digits = 2 if amount >= 100 or not amount else min(max(3 - amount.adjusted(), 2), 8)
    shown = amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{sign}{unit}{shown:,.{digits}f}"


def signed(amount: Decimal, currency: str = "USD") -> str:
    """`+$0.01878`, `-$1.20`, `$0.00`."""
    return f"+{money(amount, currency)}" if amount > 0 else money(amount, currency)


def share(part: Decimal, whole: Decimal) -> str:
    """`38.1 %`; "-" when there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def lifetime(seconds: int) -> str:
    """`300` as `5m`, `3600` as `1h`; 0 as "not stated"."""
    if seconds == 0:
        return "not stated"
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
