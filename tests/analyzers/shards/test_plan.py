"""A log is shared out so that what belongs together stays together, and no line is lost or cut."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.errors import InputError, UsageError
from analyzers.shards import plan
from analyzers.shards.plan import Plan, plan_shards, read_at_once
from tests.analyzers.logs.writing import user


def call(number: int) -> dict[str, Any]:
    return {"id": f"r{number}", "request": {"model": "m", "messages": [user(f"hello {number}")]}}


def calls(*numbers: int) -> str:
    return "".join(json.dumps(call(number)) + "\n" for number in numbers)


def session(number: int) -> str:
    row = {"type": "user", "uuid": f"u{number}", "parentUuid": None, "sessionId": "s", "message": user("x")}
    return json.dumps(row) + "\n"


def files(made: Plan) -> list[list[str]]:
    """The files of each shard."""
    return [[Path(part.source.name).name for part in shard.parts] for shard in made.shards]


def write(folder: Path, **texts: str) -> str:
    for name, text in texts.items():
        (folder / f"{name}.jsonl").write_text(text)
    return str(folder)


def test_small_neighbours_share_a_shard_up_to_its_size(tmp_path: Path) -> None:
    folder = write(tmp_path, a=calls(1), b=calls(2), c=calls(3), d=calls(4))
    size = len(calls(1))
    assert files(plan_shards([folder])) == [["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"]]
    assert files(plan_shards([folder], shard_bytes=2 * size)) == [
        ["a.jsonl", "b.jsonl"],
        ["c.jsonl", "d.jsonl"],
    ]
    assert [shard.size for shard in plan_shards([folder], shard_bytes=2 * size).shards] == [
        2 * size,
        2 * size,
    ]


def test_files_whose_rows_belong_together_are_one_shard_wherever_they_lie(tmp_path: Path) -> None:
    folder = write(tmp_path, a=session(1), b=calls(2), c=session(3), d=calls(4))
    made = plan_shards([folder], shard_bytes=1)
    assert files(made) == [["a.jsonl", "c.jsonl"], ["b.jsonl"], ["d.jsonl"]]
    assert [shard.in_one_slice for shard in made.shards] == [True, False, False]
    assert [shard.number for shard in made.shards] == [0, 1, 2]


def test_a_hash_trace_is_never_read_apart_from_the_rest(tmp_path: Path) -> None:
    trace = json.dumps({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]}) + "\n"
    made = plan_shards([write(tmp_path, a=calls(1), b=trace)], shard_bytes=1)
    assert files(made) == [["a.jsonl", "b.jsonl"]]
    assert made.shards[0].in_one_slice


@given(
    lines=st.lists(st.sampled_from(["", json.dumps(call(1)), json.dumps(call(23456)), " "]), max_size=40),
    shard_bytes=st.integers(1, 400),
    block=st.integers(1, 64),
    last=st.sampled_from(["", "\n", json.dumps(call(7))]),
)
@settings(max_examples=60, deadline=None)
def test_ranges_are_whole_lines_that_make_up_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], shard_bytes: int, block: int, last: str
) -> None:
    content = "\n".join([json.dumps(call(0)), *lines, last]).encode()
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_BLOCK", block)
        made = plan_shards([str(path)], shard_bytes=shard_bytes)
    sources = [part.source for shard in made.shards for part in shard.parts]
    if len(content) <= shard_bytes:
        assert [(source.start, source.end) for source in sources] == [(0, None)]
        return
    assert b"".join(content[source.start : source.end] for source in sources) == content
    for source in sources:
        assert source.end is not None
        assert source.first_line == content.count(b"\n", 0, source.start) + 1
        assert source.start == 0 or content[source.start - 1 : source.start] == b"\n"
    for part in [part for shard in made.shards[:-1] for part in shard.parts]:
        assert part.size is not None
        assert part.size >= shard_bytes
        before_last_line = content.rfind(b"\n", part.source.start, (part.source.end or 0) - 1)
        assert before_last_line - part.source.start + 1 < shard_bytes


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pretty.json", json.dumps([call(1), call(2)], indent=1).encode()),
        ("documents.json", "\n".join(json.dumps(call(n), indent=1) for n in (1, 2)).encode()),
        ("array.json", json.dumps([call(1), call(2)]).encode()),
        ("packed.jsonl.gz", gzip.compress(calls(1, 2).encode())),
        ("table.csv", b"prompt,model\nhello,m\nhello,m\n"),
        ("sessions.jsonl", (session(1) + session(2)).encode()),
    ],
)
def test_what_is_no_plain_file_of_separate_lines_is_not_cut(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    (shard,) = plan_shards([str(tmp_path)], shard_bytes=1).shards
    (part,) = shard.parts
    assert part.source.end is None


def test_remote_files_are_not_cut_and_their_formats_are_seen() -> None:
    system = fsspec.filesystem("memory")
    for name, text in {"a": calls(1, 2), "b": session(1), "c": calls(3)}.items():
        system.pipe_file(f"/shared-out/{name}.jsonl", text.encode())
    made = plan_shards(["memory://shared-out"], shard_bytes=1)
    assert files(made) == [["a.jsonl"], ["b.jsonl"], ["c.jsonl"]]
    assert [shard.parts[0].reader for shard in made.shards] == ["openai-chat", "claude-code", "openai-chat"]
    assert all(part.source.end is None for shard in made.shards for part in shard.parts)
    system.rm("/shared-out", recursive=True)


def test_standard_input_is_not_read_when_planning(tmp_path: Path) -> None:
    made = plan_shards(["-"], mapping={"prompt": "question"}, shard_bytes=1)
    assert [(part.source.name, part.reader) for part in made.shards[0].parts] == [("-", None)]
    assert not made.shards[0].in_one_slice
    both = plan_shards([write(tmp_path, a=calls(1)), "-"], shard_bytes=1)
    assert files(both) == [["a.jsonl", "-"]]
    assert both.shards[0].in_one_slice
    with pytest.raises(InputError, match="save it to a file"):
        read_at_once(made)


def test_reading_at_once_takes_cut_files_whole_and_in_order(tmp_path: Path) -> None:
    folder = write(tmp_path, a=session(1), b=calls(2, 3), c=session(4))
    made = plan_shards([folder], shard_bytes=1)
    whole = read_at_once(made)
    assert files(made) == [["a.jsonl", "c.jsonl"], ["b.jsonl"], ["b.jsonl"]]
    assert files(whole) == [["a.jsonl", "b.jsonl", "c.jsonl"]]
    assert whole.shards[0].size == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert whole.shards[0].in_one_slice
    assert all(part.source.end is None for part in whole.shards[0].parts)
    assert whole.fingerprint != made.fingerprint


def test_the_fingerprint_tells_a_changed_file_and_other_options(tmp_path: Path) -> None:
    folder = write(tmp_path, a=calls(1), b=calls(2))
    first = plan_shards([folder]).fingerprint
    assert plan_shards([folder]).fingerprint == first
    others = [
        plan_shards([folder], format="openai-chat"),
        plan_shards([folder], strict=True),
        plan_shards([folder], shard_bytes=7),
        plan_shards([f"{folder}/a.jsonl"]),
    ]
    write(tmp_path, b=calls(3, 4))
    others.append(plan_shards([folder]))
    assert len({first, *(other.fingerprint for other in others)}) == 6


def test_a_plan_can_be_sent_to_another_process(tmp_path: Path) -> None:
    made = plan_shards([write(tmp_path, a=calls(1, 2), b=session(3))], shard_bytes=1)
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_named_file_in_no_known_format_is_an_error_and_a_found_one_is_not(tmp_path: Path) -> None:
    folder = write(tmp_path, a=calls(1), b='{"price": 1}\n', c="")
    with pytest.raises(InputError, match="in no known log format"):
        plan_shards([f"{folder}/b.jsonl"])
    with pytest.raises(InputError, match="in no known log format"):
        plan_shards([folder], strict=True)
    (shard,) = plan_shards([folder]).shards
    assert [part.reader for part in shard.parts] == ["openai-chat", None, None]


def test_a_mapped_column_that_the_first_rows_lack_is_a_mistake(tmp_path: Path) -> None:
    rows = [json.dumps({"question": f"q{n}"} | ({"who": "me"} if n == 600 else {})) for n in range(1200)]
    folder = write(tmp_path, a="\n".join(rows[:400]), b="\n".join(rows[400:]), c=json.dumps({"kind": "z"}))
    plan_shards([folder], mapping={"prompt": "question", "user": "who"}, shard_bytes=1)
    with pytest.raises(UsageError, match="--map user=kind: the log has no column kind"):
        plan_shards([folder], mapping={"prompt": "question", "user": "kind"}, shard_bytes=1)
    with pytest.raises(UsageError, match="there is no field name"):
        plan_shards([folder], mapping={"name": "question"}, shard_bytes=1)


def test_files_to_leave_out_are_passed_over_unless_they_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path, a=calls(1), b=calls(2))
    (tmp_path / "link").symlink_to(tmp_path)
    leave_out = frozenset({(tmp_path / "b.jsonl").resolve()})
    found = plan_shards([f"{folder}/link/*.jsonl"], leave_out=leave_out)
    assert files(found) == [["a.jsonl"]]
    assert files(plan_shards([f"{folder}/b.jsonl"], leave_out=leave_out)) == [["b.jsonl"]]
    with pytest.raises(InputError, match=r"no log in .*b\]\.jsonl but the file that is to be written"):
        plan_shards([f"{folder}/[b].jsonl"], leave_out=leave_out)


def test_a_mapping_is_checked_on_the_files_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe" + "wide".encode("utf-16-le"))
    (tmp_path / "b.jsonl").write_text('{"question": "What is a cache?"}\n')
    assert files(plan_shards([str(tmp_path)], mapping={"prompt": "question"})) == [["a.jsonl", "b.jsonl"]]
    with pytest.raises(InputError, match="UTF-16"):
        plan_shards([str(tmp_path)], mapping={"prompt": "question"}, strict=True)
