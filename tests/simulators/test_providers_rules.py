from datetime import date

import pytest

from analyzers.errors import InputError, UsageError
from simulators.providers.rules import FOLDER, ImplicitMarker, Matching, Section, load_rule_book


@pytest.fixture(scope="module")
def book():
    return load_rule_book()


@pytest.mark.parametrize(
    ("provider", "model", "minimum"),
    [
        ("anthropic", "claude-opus-5", 512),
        ("anthropic", "claude-haiku-5-5", 512),
        ("anthropic", "claude-sonnet-5", 1024),
        ("anthropic", "claude-opus-4-8", 1024),
        ("anthropic", "claude-sonnet-4-5-20250929", 1024),
        ("anthropic", "claude-opus-4-20250514", 1024),
        ("bedrock", "us.anthropic.claude-opus-4-7-v1:0", 2048),
        ("anthropic", "claude-haiku-4-5-20251001", 4096),
        ("openrouter", "anthropic/claude-haiku-4.5", 4096),
        ("gemini", "gemini-2.5-flash", 2048),
        ("google", "gemini-3.1-pro-preview", 4096),
        ("anthropic", "claude-of-tomorrow", None),
    ],
)
def test_the_minimum_follows_the_model(book, provider, model, minimum):
    assert book.rules(provider, model).minimum_tokens == minimum


def test_openai_changed_its_matching_with_gpt_5_6(book):
    old, new = book.rules("openai", "gpt-5.5"), book.rules("openai", "gpt-5.6-sol")
    assert (old.matching, old.unit_tokens, old.default_lifetime) == (Matching.BLOCKS, 128, 86400)
    assert (new.matching, new.unit_tokens, new.default_lifetime) == (Matching.BREAKPOINTS, 1, 1800)
    assert new.implicit_marker is ImplicitMarker.NEWEST_INPUT
    assert book.rules("azure", "gpt-5.6-sol").matching is Matching.BREAKPOINTS


def test_a_gateways_model_is_played_by_its_makers_rules(book):
    assert book.rules("some-gateway", "anthropic/claude-sonnet-4-5").provider == "anthropic"
    assert book.rules(None, "deepseek-v4-flash").provider == "deepseek"
    assert book.rules("some-gateway", "glm-x") is None


def test_every_fact_says_where_it_was_read(book):
    for name in book.names():
        rules = book.named(name, None)
        assert rules.as_of == date(2026, 11, 29)
        assert rules.cited["matching"].title
        assert all(source.confidence in {"A", "B", "C", "D"} for source in rules.cited.values())


def test_what_was_not_verified_is_marked_as_such(book):
    assert book.rules("anthropic", "claude-fable-5-2").cited["minimum_tokens"].confidence == "D"
    assert book.rules("anthropic", "claude-opus-4-5").cited["minimum_tokens"].confidence == "A"


def test_a_users_values_stand_in_front(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "name: anthropic\ntitle: Anthropic\nas_of: 2026-12-24\nproviders: [anthropic]\nmodels: ['claude-*']\n"
        "sources: {measured: {title: our own log, confidence: C}}\n"
        "facts: {minimum_tokens: [{value: 777, models: ['claude-opus-5*'], source: measured}]}\n"
    )
    book = load_rule_book([mine])
    assert book.rules("anthropic", "claude-opus-5-5").minimum_tokens == 777
    assert book.rules("anthropic", "claude-haiku-4-5").minimum_tokens == 4096
    assert book.rules("anthropic", "claude-opus-5-5").invalidates["tool_choice"] is Section.MESSAGES


HEAD = "name: x\ntitle: X\nas_of: 2026-01-01\nproviders: [x]\nmodels: []\nsources: {s: {title: t, confidence: A}}\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEAD + "facts: {minimum: [{value: 3, source: s}]}", "'minimum' is no fact"),
        (HEAD + "facts: {minimum_tokens: [{value: 3, source: other}]}", "no source 'other'"),
        (HEAD + "facts: {minimum_tokens: [{value: many, source: s}]}", "minimum_tokens"),
        (HEAD + "facts: {lifetimes: [{value: {5min: 1}, source: s}]}", "'5min' is no lifetime"),
        (HEAD + "facts: {}\nextends: y", "extend 'y'"),
        (HEAD + "fact: {}", "unknown field `fact`"),
        ("name: [", "not a provider rule file"),
    ],
)
def test_a_wrong_rule_file_is_refused(tmp_path, text, complaint):
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=complaint):
        load_rule_book([file])


def test_an_unknown_provider_names_the_known_ones(book):
    with pytest.raises(UsageError, match="anthropic, azure, bedrock"):
        book.named("nobody", None)


def test_there_is_a_file_for_every_provider_that_publishes_a_cache(book):
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(book.names())
    assert len(book.names()) >= 14


@pytest.mark.parametrize("provider", ["anthropic", "openai", "litellm", None])
def test_a_model_by_an_id_of_bedrock_has_the_rules_of_bedrock(provider):
    rules = load_rule_book().rules(provider, "eu.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert rules is not None
    assert rules.provider == "bedrock"
