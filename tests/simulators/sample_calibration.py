"""A small calibration with round numbers, so that tests can say what an answer must be."""

from simulators.calibration import (
    CopyLine,
    FitError,
    Geometry,
    KvBytes,
    Machine,
    ModelCard,
    PrefillFit,
    Term,
    Tier,
)
from simulators.latency import SCHEMA_VERSION, Calibration

NO_ERROR = FitError(median=0.0, worst=0.0, bias=0.0, cells=4)


def plain_copy(bytes_per_s: float, fixed_s: float = 0.0) -> CopyLine:
    return CopyLine(
        fixed_s=fixed_s,
        per_byte_s=1 / bytes_per_s,
        knot_bytes=None,
        beyond_knot_per_byte_s=0.0,
        median_error=0.0,
        smallest_bytes=1,
        largest_bytes=10**9,
    )


def sample_calibration(terms: list[Term] | None = None, floor_s: float = 0.0) -> Calibration:
    """1 ms a new token and 1 µs a causal pair unless `terms` says otherwise; 1000 bytes a token; tier
    `pinned` at 1 MB/s after 10 ms, tier `disk` at 100 kB/s."""
    return Calibration(
        schema_version=SCHEMA_VERSION,
        format="pcache-calibration",
        created="2026-01-01T00:00:00+00:00",
        complete=True,
        trusted=True,
        machine=Machine("test bench", "cpu", "a processor", 2, 1, 10**9, "process CPU time", 1.0),
        versions={"torch": "2.13.0"},
        model=ModelCard("tiny-llama", "random", "float32", "sdpa", 10, "00", Geometry(4, 0, None)),
        kv=KvBytes(per_token_full=1000.0, per_token_window=0.0, fixed=0.0, window=None),
        prefill=PrefillFit(
            kernel="causal",
            floor_s=floor_s,
            terms=terms if terms is not None else [Term("new", 1e-3), Term("pairs", 1e-6)],
            training=NO_ERROR,
            holdout=NO_ERROR,
            longest_total=10_000,
            longest_cached=8_000,
        ),
        tiers=[
            Tier(
                "pinned",
                plain_copy(1e6, fixed_s=0.010),
                plain_copy(1e6),
                stored_bytes_ratio=1.0,
                logit_error=0.0,
            ),
            Tier(
                "pinned:int8", plain_copy(1e6, fixed_s=0.010), None, stored_bytes_ratio=0.5, logit_error=0.1
            ),
            Tier("disk", plain_copy(1e5), None, stored_bytes_ratio=1.0, logit_error=0.0),
        ],
        prefill_cells=[],
        copy_cells=[],
        overlap_cells=[],
        checks=[],
        warnings=[],
    )
