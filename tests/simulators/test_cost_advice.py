from dataclasses import replace
from decimal import Decimal

from simulators.cost import Bill, CostReport, HitRates
from simulators.cost_advice import Advice, Step, advise
from simulators.lifetimes import LifetimeChoice, LifetimeCost
from simulators.prewarm import Burst, KeepWarm, Prewarming

D = Decimal
BILL = Bill(
    currency="USD",
    requests=4,
    prompt_tokens=0,
    uncached_tokens=0,
    read_tokens=0,
    written_tokens={300: 500},
    output_tokens=0,
    paid=D(10),
    paid_output=D(1),
    without_cache=D(12),
    saving=D(2),
    read_saving=D(3),
    write_premium=D(1),
    possible=D(4),
    possible_read_tokens=0,
    hit_rates=HitRates(None, None, None),
)
CHOICE = LifetimeChoice(
    model="claude-opus-5",
    currency="USD",
    charged_writes=True,
    prefixes=1,
    without=D(9),
    options=(LifetimeCost(300, 3, 1, 30, 10, D(8)), LifetimeCost(3600, 1, 3, 10, 30, D(5))),
    best_ttl_s=3600,
    best_each=D(5),
    top=(),
)


def report(bill: Bill) -> CostReport:
    return CostReport(requests=4, bills={bill.currency: bill}, groups={}, unknown={}, unpriced=0)


def test_the_step_that_brings_most_comes_first():
    steps = advise(report(BILL), [CHOICE], None)
    assert [(a.step, a.saving) for a in steps] == [
        (Step.READ_WHAT_REPEATS, D(6)),
        (Step.CHANGE_LIFETIME, D(3)),
    ]
    assert (steps[1].ttl_s, steps[1].instead_of_ttl_s, steps[1].of) == (3600, 300, D(8))


def test_the_lifetime_in_use_is_no_advice_when_it_is_the_best():
    with_hours = replace(BILL, written_tokens={3600: 500})
    assert [a.step for a in advise(report(with_hours), [CHOICE], None)] == [Step.READ_WHAT_REPEATS]


def test_a_log_that_writes_nothing_is_told_to_mark_what_repeats():
    nothing_written = replace(BILL, written_tokens={300: 0}, possible=None)
    (step,) = advise(report(nothing_written), [CHOICE], None)
    assert step == Advice(Step.SET_MARKERS, D(4), D(9), "USD", "claude-opus-5", 3600, tokens=30)
    dear = replace(CHOICE, best_ttl_s=None)
    assert not advise(report(nothing_written), [dear], None)


def test_warming_names_the_dearest_burst_and_prefix():
    burst = Burst(0, (0, 1, 2), 700, 2, 0, D(1), "USD")
    keep = KeepWarm(3, 900, 300, 2, (9,), 6, D(3), D(1), D(2), 3600.0, "USD")
    warm = Prewarming((burst, replace(burst, saving=D("0.5"))), (keep,))
    steps = advise(report(replace(BILL, possible=None)), [], warm)
    assert [(a.step, a.saving) for a in steps] == [(Step.KEEP_WARM, D(2)), (Step.SEND_ONE_FIRST, D(1))]
    assert (steps[0].reads, steps[0].rewrites, steps[1].requests, steps[1].rewrites) == (6, 2, 3, 2)
