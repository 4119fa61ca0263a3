"""Whatever the content, a part is the very bytes of its line, and decodes to what a plain JSON parser sees."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analyzers.logs.writing import read_rows

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": values})
bodies = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.lists(messages, min_size=1, max_size=4)},
    optional={"tools": st.lists(st.fixed_dictionaries({"function": values}), min_size=1, max_size=2)},
)


@given(
    st.lists(
        st.tuples(bodies, st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")])), min_size=1, max_size=4
    )
)
@settings(max_examples=60, deadline=None)
def test_parts_are_the_bytes_of_the_line_and_decode_to_the_same_values(
    rows: list[tuple[dict[str, Any], bool, tuple[str, str]]],
) -> None:
    lines = [json.dumps(body, ensure_ascii=ascii_, separators=between) for body, ascii_, between in rows]
    with tempfile.TemporaryDirectory() as folder:
        log = read_rows(Path(folder), *lines, format="openai-chat")
    assert len(log.requests) == len(rows)
    seen: dict[bytes, object] = {}
    for request, line, (body, _, _) in zip(log.requests, lines, rows, strict=True):
        sent = ([body["tools"]] if "tools" in body else []) + body["messages"]
        assert [json.loads(part.raw) for part in request.parts] == sent
        for part in request.parts:
            assert part.raw in line.encode()
            assert seen.setdefault(part.kind.encode() + part.raw, part) is part
