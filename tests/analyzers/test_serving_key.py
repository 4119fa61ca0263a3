"""What takes part in the key of a cached prefix, and which differences forbid sharing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.errors import InputError
from analyzers.serving_key import Comparison, Verdict, compare_keys, read_manifest, serving_key
from analyzers.serving_key_fields import FIELDS, Reason, field_called

WHOLE: dict[str, Any] = {
    "tenant": "fernhill",
    "authorization_scope": ["support", "billing"],
    "weights": "sha256:" + "ab" * 32,
    "tokenizer": "cd" * 32,
    "chat_template": "ef" * 32,
    "adapter": None,
    "rope": {"theta": 500000, "scaling": None},
    "kv_format": {"dtype": "fp8_e4m3", "block_size": 16},
    "documents": {"handbook": "v12"},
    "policy": "2026-10",
    "sampling": {"temperature": 0.7, "seed": 1},
}
DRAWING = {"temperature": 1.3, "seed": 9, "top_p": 0.5, "max_tokens": 64, "stop": ["."], "stream": True}


def compared(**changed: Any) -> Comparison:
    other = {name: value for name, value in (WHOLE | changed).items() if value != "left out"}
    return compare_keys(serving_key(WHOLE), serving_key(other))


def test_a_whole_manifest_has_a_key_of_64_digits() -> None:
    key = serving_key(WHOLE)
    assert key.missing == ()
    assert key.digest is not None
    assert len(key.digest) == 64


def test_how_an_answer_is_drawn_does_not_take_part() -> None:
    plain = {name: value for name, value in WHOLE.items() if name != "sampling"}
    assert serving_key(plain | DRAWING).digest == serving_key(WHOLE).digest
    assert {entry.field.name for entry in serving_key(plain | DRAWING).need_not} == set(DRAWING)


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "sampling"])
def test_each_field_that_takes_part_changes_the_key_and_forbids_sharing(name: str) -> None:
    answer = compared(**{name: "another"})
    assert answer.other.digest != answer.key.digest
    assert answer.verdict is Verdict.MUST_NOT
    assert [d.name for d in answer.differences if d.forbids] == [name]


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "sampling"])
def test_without_a_field_there_is_no_key_and_no_verdict(name: str) -> None:
    answer = compared(**{name: "left out"})
    assert answer.other.digest is None
    assert [field.name for field in answer.other.missing] == [name]
    assert answer.verdict is Verdict.UNKNOWN


def test_a_forbidding_difference_decides_even_where_something_is_missing() -> None:
    assert compared(tenant="oakdale", policy="left out").verdict is Verdict.MUST_NOT


def test_none_is_an_answer_and_silence_is_not() -> None:
    assert compared(adapter="none").verdict is Verdict.MAY
    assert compared(adapter="left out").verdict is Verdict.UNKNOWN


def test_a_difference_in_sampling_does_not_matter() -> None:
    answer = compared(sampling={"temperature": 0.0})
    assert answer.verdict is Verdict.MAY
    assert [(d.name, d.forbids) for d in answer.differences] == [("sampling", False)]


def test_an_unknown_field_that_differs_is_not_judged() -> None:
    answer = compared(steering_vector="calm")
    assert answer.verdict is Verdict.UNKNOWN
    assert answer.differences[0].forbids is None


@given(st.permutations(list(WHOLE)))
def test_the_order_of_a_manifest_does_not_matter(names: list[str]) -> None:
    assert serving_key({name: WHOLE[name] for name in names}).digest == serving_key(WHOLE).digest


def test_equal_things_written_in_another_way_are_equal() -> None:
    answer = compared(
        weights="AB" * 32, authorization_scope=["billing", "support"], rope={"scaling": None, "theta": 500000}
    )
    assert answer.verdict is Verdict.MAY
    assert answer.other.digest == answer.key.digest


def test_groups_are_looked_into() -> None:
    model = {name: WHOLE[name] for name in ("weights", "tokenizer", "adapter", "rope")}
    rest = {name: value for name, value in WHOLE.items() if name not in model}
    assert serving_key({"model": model, **rest}).digest == serving_key(WHOLE).digest


def test_one_field_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        serving_key(WHOLE | {"lora": "ab" * 32})


def test_every_name_means_one_field() -> None:
    names = [name for field in FIELDS for name in (field.name, *field.aliases)]
    assert len(names) == len(set(names))
    assert all(not field.required for field in FIELDS if field.reason is Reason.NONE)
    assert field_called("model.Weights-Digest") is field_called("weights")
    assert field_called("colour") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", '{\n\t"tenant": "a"}'),
        ("m.yaml", "tenant: a"),
        ("m.toml", 'tenant = "a"'),
    ],
)
def test_manifests_are_json_yaml_or_toml(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_manifest(tmp_path / name) == {"tenant": "a"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", "{"),
        ("m.json", "[1]"),
        ("m.yaml", "a: [b"),
        ("m.yaml", "a: &x [1]\nb: *x"),
        ("m.yaml", "a: !!python/object/apply:os.getcwd []"),
        ("m.toml", "a ="),
        ("m.yaml", ""),
    ],
)
def test_what_is_no_manifest_is_refused_in_one_sentence(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError):
        read_manifest(tmp_path / name)
