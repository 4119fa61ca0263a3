"""What stands behind a varying part, and the order that would leave nothing there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.templates.exposure import Exposure, exposures
from analyzers.templates.front_ends import Readers, read_bytes
from analyzers.templates.layout import Layout, layout_of
from analyzers.templates.part_layout import part_layout
from analyzers.templates.parts import Marker, Part, Prompt, Scope, Span, Text, Value


def prompt_of(text: str, name: str = "a.j2") -> Prompt:
    (prompt,) = read_bytes(name, text.encode(), Readers()).prompts
    return prompt


def exposed(text: str, **scopes: Scope) -> list[Exposure]:
    return list(exposures(prompt_of(text), scopes))


def test_fixed_text_behind_is_all_of_it_and_no_varying_text() -> None:
    (clock, docs) = exposed("a {{ now() }} b {% for d in docs %}- {{ d }}{% endfor %} c")
    assert clock.fixed_text == " b  c"
    assert docs.fixed_text == " c"


def test_text_under_a_condition_that_varies_is_not_fixed() -> None:
    found = exposed("{{ now() }}{% if admin %}x{% endif %}{% if tools %}y{% endif %}")
    assert found[0].fixed_text == "y"


def test_a_loop_is_reported_once_for_all_inside_it() -> None:
    (found,) = exposed("{% for d in docs %}{{ d.title }}: {{ d.text }}{% endfor %}end")
    assert found.subject == "docs"


def test_a_clock_inside_a_loop_is_reported_beside_it() -> None:
    assert [e.subject for e in exposed("{% for d in docs %}{{ d }} {{ now() }}{% endfor %}end")] == [
        "docs",
        "now()",
    ]


def test_a_condition_that_only_guards_a_value_is_the_value() -> None:
    (found,) = exposed("{% if memories %}Memories: {{ memories }}{% endif %} end")
    assert found.condition is None
    assert found.subject == "memories"


def test_stable_variables_behind_count_by_name() -> None:
    (found,) = exposed("{{ recalled_memories }}\n{{ rules }}{{ rules }}")
    assert found.stable_names == ("rules",)
    assert found.strands


def test_a_value_of_a_session_does_not_lose_the_conversation() -> None:
    day, clock = exposed("{{ today }} {{ now() }} {% for m in messages %}{{ m.content }}{% endfor %}")[:2]
    assert not day.loses_conversation
    assert clock.loses_conversation


def test_behind_the_last_marker_nothing_is_cached() -> None:
    def parts(*order: str) -> tuple[Part, ...]:
        made: dict[str, Part] = {
            "text": Text("Be kind.", SPANS[0]),
            "marker": Marker(SPANS[1], "text"),
            "clock": Value("now()", SPANS[2], calls=("now()",)),
            "more": Text("Be brief.", SPANS[3]),
        }
        return tuple(made[name] for name in order)

    def found(*order: str) -> list[str]:
        prompt = Prompt("a.py", "python", parts(*order))
        return [exposure.fixed_text for exposure in exposures(prompt, {})]

    assert found("text", "clock", "more") == ["Be brief."]
    assert found("text", "marker", "clock", "more") == []
    assert found("clock", "text", "marker", "more") == ["Be kind."]


SPANS = [Span("a.py", start, start + 1, 1, start + 1, 1, start + 2) for start in range(4)]


def layout(text: str, **scopes: Scope) -> Layout:
    return layout_of(prompt_of(text), text, scopes)


def test_a_heading_moves_with_what_it_announces() -> None:
    found = layout("{{ now() }}\nPassages:\n{% for d in docs %}\n- {{ d }}\n{% endfor %}\nBe kind.\n")
    assert (
        found.rewritten()
        == "Be kind.\nPassages:\n{% for d in docs %}\n- {{ d }}\n{% endfor %}\n{{ now() }}\n"
    )


def test_a_tag_moves_with_its_closing_tag() -> None:
    found = layout("<context>\n{{ docs }}\n</context>\nBe kind.\n")
    assert found.rewritten() == "Be kind.\n<context>\n{{ docs }}\n</context>\n"


def test_a_short_ending_stays_behind_what_it_answers() -> None:
    found = layout("{{ question }}\nBe kind, and be brief in all you say.\nQuestion: {{ question }}\nAnswer:")
    assert (
        found.rewritten()
        == "Be kind, and be brief in all you say.\n{{ question }}\nQuestion: {{ question }}\nAnswer:"
    )


def test_definitions_stay_at_the_top() -> None:
    found = layout("{{ now() }}\n{% set name = user.name %}\nI am {{ name }}.\nBe kind.\n")
    assert found.rewritten().startswith("{% set name = user.name %}\nBe kind.\n")


def test_a_scope_by_hand_moves_a_piece() -> None:
    text = "{{ banner }}\n{{ user.name }}\nBe kind.\n"
    assert [p.label for p in layout(text, banner=Scope.REQUEST).suggested][-1] == "banner"
    assert not layout("{{ banner }}\nBe kind.\n", banner=Scope.RELEASE).differs


@pytest.mark.parametrize(
    "text", ["Be kind.\n{{ user.name }}\n{{ now() }}\n", "Only text.\n", "{{ rules }}\n"]
)
def test_a_good_order_is_left_alone(text: str) -> None:
    assert not layout(text).differs


def test_prompts_with_roles_are_laid_out_within_each_section() -> None:
    text = (
        "---\nname: a\n---\nsystem:\nYou talk to {{user.name}}, who is new.\n{% for d in docs %}- {{ d }}\n{% endfor %}\n"
        "Be kind.\nBe brief.\nuser:\n{{question}}\n"
    )
    found = part_layout(prompt_of(text, "a.prompty"), {})
    assert [(p.label, p.first_line, p.last_line) for p in found.suggested] == [
        ("fixed text", 8, 9),
        ("user.name", 5, 5),
        ("docs", 6, 7),
        ("question", 11, 11),
    ]


LINES = [
    "Be kind.",
    "{{ now() }}",
    "{{ user.name }}",
    "{{ rules }}",
    "{% if admin %}x{% endif %}",
    "",
    "## Docs",
    "{{ docs }}",
    "a:",
    "{{ b }}",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=12))
def test_a_suggested_order_has_every_line_and_rises_in_volatility(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if not text.strip():
        return
    found = layout(text)
    again = found.rewritten()
    assert sorted(again.splitlines()) == sorted(text.splitlines())
    ranks = [piece.rank for piece in found.suggested]
    assert ranks == sorted(ranks)
