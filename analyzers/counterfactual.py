"""What taking the breakers out of a log brings, proven by playing the log again.

Each breaker is taken out alone, then one after another in order of what it brings, so that the marginal gain says
what it still brings when the larger ones are fixed. A gain counts prompt tokens that need not be computed any more:
text that only moves stays new each time, and text that a fix adds counts against it. Requests share within their
namespace as before; no replay lets them share across.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analyzers.breakers import Breaker
from analyzers.counterfactual_remedies import LAST_RANK, Remedy, Treatment, caveats_of, treatments_of
from analyzers.counterfactual_replay import Played, Replayer
from analyzers.divergence import Slot
from analyzers.divergences import Divergences
from analyzers.findings import Gain
from analyzers.pipeline import TracedLog

MOST_BREAKERS = 24
"""Breakers that are played; the rest lose less than each of these."""
_LEAST_SHARE = 100


@dataclass(frozen=True, slots=True)
class Recovered:
    """What taking the breaker of one slot out brings, in prompt tokens over the whole log.

    `gain_tokens`: alone. `marginal_gain_tokens`: when those before it are taken out already; where it is below 0 by
    more than a hundredth of what the breaker loses, the fix is left out of what follows.
    `moved_tokens` are sent at another place, anew in each request; `added_tokens` are sent on top (a history
    that stays, tools that are always sent) and read from cache.
    """

    slot: int
    remedy: Remedy
    gain_tokens: int
    marginal_gain_tokens: int
    moved_tokens: int
    added_tokens: int
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The breakers of a log taken out, those that bring most first.

    `prompt_tokens` and `reusable_tokens` are the log's own; `..._after` are those with all of them taken
    out but those that would make it worse.
    `not_played`: slots for which no fix can be played. `applied`: what was done in the replay with all of them.
    """

    prompt_tokens: int
    reusable_tokens: int
    prompt_tokens_after: int
    reusable_tokens_after: int
    gain_tokens: int
    recovered: tuple[Recovered, ...]
    not_played: tuple[int, ...] = ()
    applied: Mapping[int, Treatment] = field(default_factory=dict)

    def of(self, slot: int) -> Recovered | None:
        """What a slot's fix brings, None where it was not played."""
        return next((r for r in self.recovered if r.slot == slot), None)


@dataclass(frozen=True, slots=True)
class _Alone:
    slot: Slot
    treatment: Treatment
    gain: int
    moved: int
    added: int


def take_out(
    traced: TracedLog,
    divergences: Divergences,
    slots: Sequence[Slot],
    treatments: Mapping[int, Treatment] | None = None,
) -> Counterfactual:
    """Play the log without each breaker and without all of them. Exact up to the seams of moved text (one token).

    `treatments`: those of the slots by number, where they are known already.
    """
    treated = treatments_of(traced, divergences, slots) if treatments is None else treatments
    replayer = Replayer(traced, divergences)
    before = replayer.play(())
    playable = [(slot, treated[slot.number]) for slot in slots if slot.number in treated]
    playable = sorted(playable, key=lambda pair: (-_at_stake(pair[0]), pair[0].number))[:MOST_BREAKERS]
    alone = [
        max(
            (_play_alone(replayer, before, slot, way) for way in _placements(traced, slot, treatment)),
            key=lambda one: one.gain,
        )
        for slot, treatment in playable
    ]
    alone.sort(key=lambda one: (-one.gain, -_at_stake(one.slot), one.slot.number))
    recovered: list[Recovered] = []
    applied: list[_Alone] = []
    after, gained = before, 0
    for one in alone:
        played = replayer.play([*(other.treatment for other in applied), one.treatment])
        moved = sum(other.moved for other in applied) + one.moved
        marginal = _computed(before) - _computed(played) - moved - gained
        # What gains nothing yet may let the next ones gain: tools in another order and with other key orders.
        if marginal >= -_at_stake(one.slot) // _LEAST_SHARE:
            applied.append(one)
            after, gained = played, gained + marginal
        recovered.append(
            Recovered(
                slot=one.slot.number,
                remedy=one.treatment.remedy,
                gain_tokens=one.gain,
                marginal_gain_tokens=marginal,
                moved_tokens=one.moved,
                added_tokens=one.added,
                caveats=caveats_of(one.slot, one.treatment, one.added),
            )
        )
    played_slots = {one.slot.number for one in alone}
    return Counterfactual(
        prompt_tokens=int(before.prompt.sum()),
        reusable_tokens=int(before.reusable.sum()),
        prompt_tokens_after=int(after.prompt.sum()) + sum(one.moved for one in applied),
        reusable_tokens_after=int(after.reusable.sum()),
        gain_tokens=gained,
        recovered=tuple(recovered),
        not_played=tuple(slot.number for slot in slots if slot.number not in played_slots),
        applied={one.slot.number: one.treatment for one in applied},
    )


def _placements(traced: TracedLog, slot: Slot, treatment: Treatment) -> list[Treatment]:
    """A value that nothing in the log explains but that comes back may stay in its part, behind what is stable."""
    if treatment.remedy is not Remedy.MOVE_TO_NEWEST:
        return [treatment]
    runs = traced.sequences.runs
    sent = int(np.isin(runs, np.fromiter(treatment.spans, np.int64)).sum())
    if 2 * len(slot.values) > sent:
        return [treatment]
    return [treatment, replace(treatment, remedy=Remedy.MOVE_BEHIND_PART, rank=LAST_RANK)]


def _play_alone(replayer: Replayer, before: Played, slot: Slot, treatment: Treatment) -> _Alone:
    played = replayer.play((treatment,))
    grown = int(played.prompt.sum()) - int(before.prompt.sum())
    moved = max(0, -grown) if treatment.remedy is Remedy.MOVE_TO_NEWEST else 0
    added = max(0, grown) if treatment.remedy in (Remedy.KEEP_HISTORY, Remedy.KEEP_TOOLS) else 0
    return _Alone(slot, treatment, _computed(before) - _computed(played) - moved, moved, added)


def _computed(played: Played) -> int:
    """Prompt tokens that no cache could have served."""
    return int(played.prompt.sum()) - int(played.reusable.sum())


def _at_stake(slot: Slot) -> int:
    return sum(divergence.lost for divergence in slot.divergences)


def with_gains(breakers: Sequence[Breaker], outcome: Counterfactual) -> list[Breaker]:
    """The breakers with what their fixes bring, as the replay proved, those that bring most first.

    Where nothing could be played, what a breaker loses stands in for the order. A slot that two rules report
    brings its gain once.
    """
    found: list[Breaker] = []
    counted: set[int] = set()
    for breaker in breakers:
        recovered = outcome.of(breaker.slot.number) if breaker.slot is not None else None
        if recovered is None or recovered.gain_tokens <= 0 or recovered.slot in counted:
            found.append(breaker)
            continue
        counted.add(recovered.slot)
        finding = replace(breaker.finding, gain=Gain(recovered.gain_tokens, proven=True))
        found.append(replace(breaker, finding=finding))
    return sorted(found, key=lambda breaker: (-_worth(breaker, outcome), breaker.finding.level.rank))


def _worth(breaker: Breaker, outcome: Counterfactual) -> int:
    """What the fix brings, alone or behind the others; where nothing could be played, what the breaker loses."""
    recovered = outcome.of(breaker.slot.number) if breaker.slot is not None else None
    if recovered is None:
        return breaker.finding.tokens_lost or 0
    return max(recovered.gain_tokens, recovered.marginal_gain_tokens)
