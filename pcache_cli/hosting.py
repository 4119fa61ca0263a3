"""The self-hosting options of `pcache cost` as a fleet and a model of its times."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.errors import UsageError
from pcache_cli.units import parse_duration, parse_size, split_list

if TYPE_CHECKING:
    from simulators.latency import Calibration
    from simulators.self_hosted import Assumed, Fleet


@dataclass(frozen=True)
class HostingWords:
    """The options as they were typed; None where they were left out."""

    gpu_hour: str | None = None
    gpus: int = 1
    calibration: Path | None = None
    prefill_rate: float | None = None
    model: str | None = None
    kv_bytes_per_token: int | None = None
    tier: str = "resident"
    tier_price: str | None = None
    restore_rate: str | None = None
    kv_memory: str | None = None
    hold: str = "10m"

    def asked(self) -> bool:
        """Whether the question is about self-hosting. Raises UsageError for its options without --gpu-hour."""
        if self.gpu_hour is not None:
            return True
        defaults = HostingWords()
        stray = [name for name in self.__dataclass_fields__ if getattr(self, name) != getattr(defaults, name)]
        if stray:
            raise UsageError(f"--{stray[0].replace('_', '-')} is about self-hosting: give --gpu-hour as well")
        return False

    def fleet(self) -> "Fleet":
        """Prices and room. Raises UsageError for a value that is none."""
        from simulators.latency import RESIDENT
        from simulators.self_hosted import GB, Fleet

        if self.tier == RESIDENT and self.kv_memory is None:
            raise UsageError(
                "KV on the accelerator takes its memory: give --kv-memory, for example 40GB, or a --tier"
            )
        prices = self._tier_prices()
        if self.tier != RESIDENT and self.tier not in prices:
            raise UsageError(
                f"give --tier-price for {self.tier}, in dollars per GB and hour; 0 where it costs nothing"
            )
        hold = parse_duration(self.hold)
        if self.gpus < 1 or hold <= 0:
            raise UsageError("--gpus starts at 1 and --hold is longer than nothing")
        return Fleet(
            gpu_usd_per_hour=_price("--gpu-hour", self.gpu_hour or ""),
            gpus=self.gpus,
            memory_gb=parse_size(self.kv_memory) / GB if self.kv_memory else 1.0,
            tier=self.tier,
            usd_per_gb_hour=prices,
            hold_s=hold,
        )

    def _tier_prices(self) -> dict[str, Decimal]:
        """`0.004` for the tier in use, or `pinned=0.004,disk=0.0002`."""
        if self.tier_price is None:
            return {}
        prices = {}
        for item in split_list(self.tier_price):
            name, is_named, price = item.rpartition("=")
            prices[name if is_named else self.tier] = _price("--tier-price", price)
        return prices

    def times(self) -> "Calibration | Assumed":
        """The calibration, or the stated assumptions. Raises UsageError when neither is complete."""
        from simulators.kv_bytes import find_shape, kv_bytes
        from simulators.latency import RESIDENT, load_calibration
        from simulators.self_hosted import Assumed

        if self.calibration is not None:
            if self.prefill_rate or self.model or self.kv_bytes_per_token or self.restore_rate:
                raise UsageError(
                    "--calibration measured what the other options would assume; give one or the other"
                )
            calibration = load_calibration(self.calibration)
            if self.tier != RESIDENT:
                calibration.tier(self.tier)
            return calibration
        if not self.prefill_rate or not (self.model or self.kv_bytes_per_token):
            raise UsageError(
                "give --calibration from pcache probe, or assume --prefill-rate (tokens a second) and "
                "--model or --kv-bytes-per-token"
            )
        if self.tier != RESIDENT and self.restore_rate is None:
            raise UsageError(f"give --restore-rate for {self.tier}, for example 25GB (a second)")
        per_token = self.kv_bytes_per_token or kv_bytes(find_shape(self.model or "")).per_token
        rate = None if self.restore_rate is None else float(parse_size(self.restore_rate))
        return Assumed(self.prefill_rate, float(per_token), rate)


def _price(option: str, text: str) -> Decimal:
    try:
        price = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        raise UsageError(f"{option} '{text}' is no price; write for example 2.50") from None
    if not price.is_finite() or price < 0:
        raise UsageError(f"{option} {text} is no price; write for example 2.50")
    return price
