"""What breaks the prefix in a log, what taking it out brings, the layout to aim at, and who shares with whom: one
answer for reports."""

from dataclasses import dataclass

from analyzers.breakers import Breaker, breakers_of
from analyzers.counterfactual import Counterfactual, take_out, with_gains
from analyzers.counterfactual_remedies import treatments_of
from analyzers.isolation import Crossing, NamespaceChoice, boundary_crossings, namespace_choices
from analyzers.layout import RouteLayout, propose_layouts
from analyzers.log_evidence import Limits, log_evidence
from analyzers.pipeline import TracedLog


@dataclass(frozen=True)
class Study:
    """Breakers with their gains, those worth most first; the replay behind the gains; a layout for each route; what
    each choice of namespace costs; prefixes that cross a tenant's or user's boundary under the current one."""

    breakers: tuple[Breaker, ...]
    outcome: Counterfactual
    layouts: tuple[RouteLayout, ...]
    namespaces: tuple[NamespaceChoice, ...]
    crossings: tuple[Crossing, ...]


def study_breakers(traced: TracedLog, limits_of: Limits) -> Study:
    """Find the breakers of a log and play it without them. `limits_of` says what is known of a model."""
    log = log_evidence(traced, limits_of)
    treatments = treatments_of(traced, log.divergences, log.slots)
    outcome = take_out(traced, log.divergences, log.slots, treatments)
    return Study(
        breakers=tuple(with_gains(breakers_of(log), outcome)),
        outcome=outcome,
        layouts=tuple(propose_layouts(traced, log.divergences, log.slots, treatments)),
        namespaces=namespace_choices(traced),
        crossings=boundary_crossings(traced),
    )
