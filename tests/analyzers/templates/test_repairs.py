"""Edits of Python source: offered only where they are safe, and what they leave is clean."""

import pytest

from analyzers.findings import Edit
from analyzers.linting.repairs import with_repairs
from analyzers.templates.parts import Cause, LineIndex, Prompt, Source, Value


def repaired(code: str, value: str, cause: Cause) -> str | None:
    """The code with the repair of the value that stands in it, None when there is none."""
    start = code.index(value)
    span = LineIndex("a.py", code).span(start, start + len(value))
    prompt = Prompt("a.py", "python", (Value(value, span, cause=cause),))
    (part,) = with_repairs(Source("a.py", code, (prompt,))).prompts[0].parts
    assert isinstance(part, Value)
    edit: Edit | None = part.repair
    return None if edit is None else code[: edit.start] + edit.text + code[edit.end :]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("json.dumps(x)", "json.dumps(x, sort_keys=True)"),
        ("json.dumps(x, indent=2)", "json.dumps(x, indent=2, sort_keys=True)"),
        ("json.dumps(\n    x,\n)", "json.dumps(\n    x, sort_keys=True\n)"),
        ("dumps(x)", "dumps(x, sort_keys=True)"),
        ("json.dumps(x, sort_keys=False)", None),
        ("json.dumps(x, **options)", None),
        ("to_text(x)", None),
        ("json.dumps(x", None),
    ],
)
def test_json_gets_sorted_keys(before: str, after: str | None) -> None:
    found = repaired(f"y = {before}\n", before, Cause.UNSORTED_JSON)
    assert found == (None if after is None else f"y = {after}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"b", "a"}', 'sorted({"b", "a"})'),
        ('os.listdir("x")', 'sorted(os.listdir("x"))'),
        ("glob.glob(p)", "sorted(glob.glob(p))"),
        ('{"b", 1}', None),
        ("{a, b}", None),
        ("set(things)", None),
        ("as_completed(futures)", None),
    ],
)
def test_what_can_be_sorted_is(before: str, after: str | None) -> None:
    found = repaired(f"y = list({before})\n", before, Cause.UNORDERED)
    assert found == (None if after is None else f"y = list({after})\n")


def test_a_set_with_a_name_is_sorted_where_it_is_joined() -> None:
    code = 'tags = {"b", "a"}\ntext = ", ".join(tags)\n'
    lines = LineIndex("a.py", code)
    origin, use = (
        lines.span(code.index(x), code.index(x) + len(x)) for x in ('{"b", "a"}', '", ".join(tags)')
    )
    value = Value("tags", use, cause=Cause.UNORDERED, origin=origin)
    (part,) = with_repairs(Source("a.py", code, (Prompt("a.py", "python", (value,)),))).prompts[0].parts
    assert isinstance(part, Value)
    assert part.repair is not None
    edited = code[: part.repair.start] + part.repair.text + code[part.repair.end :]
    assert edited == 'tags = {"b", "a"}\ntext = ", ".join(sorted(tags))\n'


def test_other_causes_and_other_files_are_left_alone() -> None:
    assert repaired("y = json.dumps(x)\n", "json.dumps(x)", Cause.CLOCK) is None
    span = LineIndex("a.j2", "json.dumps(x)").span(0, 13)
    source = Source(
        "a.j2", "json.dumps(x)", (Prompt("a.j2", "jinja", (Value("x", span, cause=Cause.UNSORTED_JSON),)),)
    )
    assert with_repairs(source) is source
