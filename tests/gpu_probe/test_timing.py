"""Clocks, estimates and stopping."""

import numpy as np
import pytest
import torch

from gpu_probe.timing import (
    Clock,
    Sample,
    compute_clock,
    copy_clock,
    estimate,
    noise,
    relative_half_width,
    spread,
)

CPU = torch.device("cpu")


def test_one_thread_on_the_host_is_timed_by_its_own_cpu_time():
    assert compute_clock(CPU, 1).name == copy_clock(CPU, 1).name == "process CPU time"
    assert compute_clock(CPU, 4).name == "wall clock"
    assert compute_clock(torch.device("cuda"), 1).name == "CUDA events"
    assert copy_clock(torch.device("cuda"), 1).name == "wall clock"


def test_sleeping_takes_wall_time_but_no_cpu_time():
    import time

    sample = Clock("process CPU time", CPU).time(lambda: time.sleep(0.05))
    assert sample.seconds == sample.cpu_s < 0.04 < sample.wall_s
    assert Clock("wall clock", CPU).time(lambda: time.sleep(0.05)).seconds >= 0.05


def test_interference_counts_for_the_median_but_not_for_the_minimum():
    seconds = [1.0, 1.01, 1.02, 3.0, 5.0]
    assert estimate(seconds, contended=False) == 1.02
    assert estimate(seconds, contended=True) == 1.0


def test_noise_is_wall_over_cpu_time():
    assert noise([Sample(1, 3, 1), Sample(1, 1, 1)]) == 2.0
    assert noise([Sample(1, 3, 0)]) is None


def test_nothing_is_settled_below_five_samples():
    assert relative_half_width([1.0] * 4, contended=False) == float("inf")
    assert relative_half_width([1.0] * 5, contended=False) == 0.0
    assert relative_half_width([1.0, 1.0, 1.2, 5.0, 9.0], contended=True) == pytest.approx(0.1)


@pytest.mark.parametrize("count", [5, 8, 15, 30])
def test_the_interval_holds_the_true_median_nine_times_in_ten(count: int):
    random = np.random.default_rng(count)
    held = 0
    for _ in range(400):
        seconds = np.exp(random.standard_normal(count) * 0.2)
        middle = np.median(seconds)
        half = relative_half_width(list(seconds), contended=False) * middle
        ordered = np.sort(seconds)
        # The interval is [low, high] with high − low = 2·half; recover it among the order statistics.
        pairs = [(ordered[r], ordered[-1 - r]) for r in range(count // 2 + 1)]
        low, high = min(pairs, key=lambda pair: abs(pair[1] - pair[0] - 2 * half))
        held += low <= 1.0 <= high
    assert held / 400 > 0.88


def test_the_spread_ignores_single_outliers():
    assert spread([1.0]) == 0.0
    assert spread([1.0] * 9 + [50.0]) == 0.0
    assert spread([0.9, 0.9, 1.0, 1.1, 1.1]) == pytest.approx(0.1)
