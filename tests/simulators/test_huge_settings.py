"""Settings too large for a machine get one sentence, not an overflow."""

import pytest

from analyzers.errors import UsageError
from simulators.engines import find_engine
from simulators.engines.engine import settle_options
from simulators.lifecycle import Failures
from simulators.replicas import Replicas


@pytest.mark.parametrize(("engine", "option"), [("vllm", "num-gpu-blocks"), ("sglang", "max-total-tokens")])
def test_an_engine_option_beyond_32_bits_is_refused(engine: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"--{option} 1e.20 is not possible; the largest is"):
        settle_options(find_engine(engine), {option: 1e20}, {})


@pytest.mark.parametrize("seed", [-1, 2**70])
def test_a_seed_is_a_whole_number_of_63_bits(seed: int) -> None:
    with pytest.raises(UsageError, match="a seed of"):
        Failures(seed=seed).check()


def test_there_are_no_more_replicas_than_can_be_simulated() -> None:
    with pytest.raises(UsageError, match="at most 10,000"):
        Replicas(count=999_999_999).check()
