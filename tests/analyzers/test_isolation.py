"""What each choice of namespace costs, and which prefixes cross a boundary."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.isolation import LEAST_CROSSING, boundary_crossings, namespace_choices
from analyzers.logs import read_log
from analyzers.pipeline import TracedLog, TraceOptions, trace_log
from tests.analyzers.tokenizer_builder import byte_level

RULES = " ".join(f"In case {n} quote the order and name the depot." for n in range(12))
TENANTS = ("fern", "oak", "elm")
SECRETS = {
    t: f"The rates of {t} parts are secret: " + " ".join(f"{t}{n}" for n in range(30)) for t in TENANTS
}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(byte_level(tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"))


def traced(
    folder: Path, vocabulary: str, rows: list[tuple[str, str, str]], namespace: tuple[str, ...] | None
) -> TracedLog:
    """Requests as (tenant, user, system prompt)."""
    lines = [
        json.dumps(
            {
                "id": f"r{i}",
                "timestamp": f"2026-10-05T09:00:{i:02}Z",
                "tenant_id": tenant,
                "request": {
                    "model": "gpt-4.1",
                    "user": user,
                    "messages": [
                        {"role": "system", "content": system},
                        {"role": "user", "content": f"Question {i}"},
                    ],
                },
            }
        )
        for i, (tenant, user, system) in enumerate(rows)
    ]
    (folder / "log.jsonl").write_text("\n".join(lines))
    options = TraceOptions(answers=False, tokenizer=vocabulary, namespace=namespace)
    return trace_log(read_log([str(folder / "log.jsonl")]), options)


def test_narrower_namespaces_cost_more(tmp_path: Path, vocabulary: str) -> None:
    rows = [(TENANTS[i % 3], f"u{i % 6}", RULES) for i in range(18)]
    log = traced(tmp_path, vocabulary, rows, None)
    choices = namespace_choices(log)
    assert [choice.fields for choice in choices] == [
        (),
        ("model",),
        ("model", "tenant"),
        ("model", "tenant", "user"),
    ]
    assert [choice.namespaces for choice in choices] == [1, 1, 3, 6]
    costs = [choice.cost_tokens for choice in choices]
    # Each further namespace computes the rules once more.
    assert costs[0] == costs[1] == 0 < costs[2] < costs[3]
    assert costs[3] / costs[2] == pytest.approx(5 / 2, rel=0.01)
    assert [choice.fields for choice in choices if choice.current] == [("model", "tenant")]


def test_common_text_and_one_tenants_text_are_told_apart(tmp_path: Path, vocabulary: str) -> None:
    borrowed = [("fern", "a", RULES + SECRETS["fern"]), ("oak", "b", RULES + SECRETS["fern"])]
    rows = [*borrowed, ("elm", "c", RULES + SECRETS["elm"])]
    first, *others = boundary_crossings(traced(tmp_path, vocabulary, rows, ("model",)))
    assert (first.boundary, first.requests, first.shared_by, first.parties) == ("tenant", 1, 2, 3)
    assert not first.common
    assert (first.path, first.inside) == ("messages[1].content", True)  # both questions begin alike
    assert first.first_request == "r0"
    rules = next(crossing for crossing in others if crossing.boundary == "tenant")
    assert rules.common
    assert rules.depth < first.depth


def test_namespaces_that_follow_the_boundary_have_no_crossing(tmp_path: Path, vocabulary: str) -> None:
    rows = [(TENANTS[i % 3], TENANTS[i % 3], RULES) for i in range(6)]
    assert boundary_crossings(traced(tmp_path, vocabulary, rows, ("model", "tenant", "user"))) == ()
    assert boundary_crossings(traced(tmp_path, vocabulary, rows, ("model",))) != ()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(TENANTS), st.sampled_from(TENANTS)), min_size=2, max_size=9))
def test_crossing_tokens_are_those_that_only_other_parties_sent(
    tmp_path: Path, vocabulary: str, pairs: list[tuple[str, str]]
) -> None:
    rows = [(tenant, "u", RULES + SECRETS[text]) for tenant, text in pairs]
    log = traced(tmp_path, vocabulary, rows, ("model",))
    prompts = [log.sequences.tokens(row).tolist() for row in range(len(rows))]

    def common(a: list[int], b: list[int]) -> int:
        return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))

    expected = 0
    for row, (tenant, _, _) in enumerate(rows):
        reach = [(common(prompts[row], prompts[other]), rows[other][0]) for other in range(row)]
        own = max((depth for depth, who in reach if who == tenant), default=0)
        tokens = max((depth for depth, _ in reach), default=0) - own
        expected += tokens if tokens >= LEAST_CROSSING else 0
    assert sum(crossing.tokens for crossing in boundary_crossings(log)) == expected
