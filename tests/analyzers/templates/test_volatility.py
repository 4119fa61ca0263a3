"""How often a value changes, by its name, its calls and what is done to them."""

import pytest

from analyzers.templates.jinja import read_jinja
from analyzers.templates.jinja_files import JinjaFiles
from analyzers.templates.parts import Cause, Scope, Span, Value
from analyzers.templates.volatility import Verdict, judge, judge_name

SPAN = Span("a", 0, 1, 1, 1, 1, 2)


def verdict_of(template: str) -> Verdict:
    """The verdict on the last value of a template."""
    (prompt,) = read_jinja("a.j2", template, JinjaFiles()).prompts
    return judge([part for part in prompt.parts if isinstance(part, Value)][-1])


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("current_time", Cause.CLOCK),
        ("currentTime", Cause.CLOCK),
        ("time_limit", Cause.CONSTANT),
        ("today", Cause.DATE),
        ("request_id", Cause.RANDOM_ID),
        ("session_id", Cause.IDENTITY),
        ("user.name", Cause.IDENTITY),
        ("user_question", Cause.USER_INPUT),
        ("system_prompt", Cause.CONSTANT),
        ("prompt", Cause.USER_INPUT),
        ("memory_instructions", Cause.CONSTANT),
        ("recalled_memories", Cause.RETRIEVED),
        ("bot_name", Cause.CONSTANT),
        ("RULES", Cause.CONSTANT),
        ("bos_token", Cause.SPECIAL_TOKEN),
        ("config.company", Cause.CONSTANT),
        ("firstName", Cause.IDENTITY),
        ("is_weekend", Cause.DATE),
        ("banner", Cause.UNKNOWN),
        ("messages.content", Cause.CONVERSATION),
    ],
)
def test_a_name_tells_its_cause(name: str, cause: Cause) -> None:
    assert judge_name(name).cause is cause


@pytest.mark.parametrize(
    ("template", "cause"),
    [
        ("{{ now() }}", Cause.CLOCK),
        ("{{ now().strftime('%Y-%m-%d') }}", Cause.DATE),
        ("{{ now().strftime('%Y-%m-%d %H:%M') }}", Cause.CLOCK),
        ("{{ strftime_now('%d %b %Y') }}", Cause.DATE),
        ("{% set d = strftime_now('%d %b %Y') %}{{ d }}", Cause.DATE),
        ("{{ now() | date('Y-m-d') }}", Cause.DATE),
        ("{{ now() | date('Y-m-d H:i') }}", Cause.CLOCK),
        ("{{ now().date() }}", Cause.DATE),
        ("{{ random.choice(xs) }}", Cause.RANDOM_CHOICE),
        ("{{ xs | random }}", Cause.RANDOM_CHOICE),
        ("{{ clock.get_current_time() }}", Cause.CLOCK),
        ("{{ hash(rules) }}", Cause.SALTED_HASH),
        ("{{ rules | upper | trim }}", Cause.CONSTANT),
        ("{{ rules.strip().replace('a', 'b') }}", Cause.CONSTANT),
        ("{% for i in range(3) %}{{ loop.index }}{% endfor %}", Cause.CONSTANT),
        ("{{ messages[0].content }}", Cause.CONSTANT),
        ("{{ messages[-1].content }}", Cause.CONVERSATION),
        ("{% set ns = namespace(x='') %}{% set ns.x = user.name %}{{ ns.x }}", Cause.IDENTITY),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(question) }}", Cause.USER_INPUT),
        ("{{ rules if strict else now() }}", Cause.CLOCK),
    ],
)
def test_an_expression_tells_its_cause(template: str, cause: Cause) -> None:
    assert verdict_of(template).cause is cause


def test_a_scope_given_by_hand_wins_over_the_name() -> None:
    value = Value("user.name", SPAN, ("user.name",))
    assert judge(value, {"user.*": Scope.RELEASE}).stable
    assert judge(value, {"user": Scope.REQUEST}).scope is Scope.REQUEST
    assert judge(value, {"other": Scope.RELEASE}).scope is Scope.USER


def test_a_cause_that_a_front_end_found_is_sure() -> None:
    verdict = judge(Value("f()", SPAN, cause=Cause.UNORDERED))
    assert verdict.sure
    assert verdict.cause is Cause.UNORDERED
