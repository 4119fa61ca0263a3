"""Encoding each segment once gives the ids of the whole prompt, for every tokenizer and template, or is not done."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, normalizers

from analyzers.rendering import make_rendering
from analyzers.renderings.cutting import between_lines
from analyzers.request import Dialect, PartKind, PartStore, Request
from analyzers.tokenization import Memoisation, Tokenizer, load_tokenizer
from analyzers.tokenizers.vocabularies import find_vocabulary
from tests.analyzers.tokenizer_builder import CHAT_TOKENS, byte_level, metaspace, special, whole_prompt_ids

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' }}"
    "{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
INSTRUCTIONS = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}{{ ' ' + message['content'] + ' ' }}"
    "{% else %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% endif %}{% endfor %}"
)
BOS_INSTRUCTIONS = "{{ '<s>' }}" + INSTRUCTIONS.replace("' [/INST]'", "' [/INST]</s>'")
DEEPSEEK = (
    "{{ '<｜begin▁of▁sentence｜>' }}{% for message in messages %}{{ ('<｜Assistant｜>' if message['role'] == "
    "'assistant' else '<｜User｜>') + message['content'] }}{% endfor %}{{ '<｜Assistant｜><think>' }}"
)
TEMPLATES = {"chatml": CHATML, "inst": INSTRUCTIONS, "bos-inst": BOS_INSTRUCTIONS, "deepseek": DEEPSEEK}

_FOLDER = TemporaryDirectory()


@cache
def tokenizer_file(kind: str) -> Path:
    """A tokenizer.json of each kind, built once."""
    file = Path(_FOLDER.name) / f"{kind}.json"
    match kind:
        case "byte-level":
            return byte_level(file)
        case "nfc":
            return byte_level(file, normalizer=normalizers.NFC())
        case "lowercase-normalised-token":
            added = [*CHAT_TOKENS, special("<|X|>", normalized=True)]
            return byte_level(file, added=added, normalizer=normalizers.Lowercase())
        case "plain-added":
            return byte_level(file, added=[*CHAT_TOKENS, AddedToken("<think>", normalized=True)])
        case "lstrip" | "rstrip" | "single_word":
            return byte_level(
                file, added=[special("<s>"), special("<|im_start|>", **{kind: True}), special("</s>")]
            )
        case "overlapping":
            return byte_level(
                file, added=[special("<s>"), special("<s>>"), special("<|im_start|>"), special(">")]
            )
        case "deepseek":
            file.write_bytes(find_vocabulary("deepseek").data)
            return file
    return metaspace(file, kind.removeprefix("metaspace-"))


KINDS = {
    "byte-level": Memoisation.EXACT,
    "nfc": Memoisation.EXACT,
    "plain-added": Memoisation.EXACT,
    "overlapping": Memoisation.EXACT,
    "deepseek": Memoisation.EXACT,
    "metaspace-first": Memoisation.BEHIND_SENTINEL,
    "metaspace-always": Memoisation.EXACT,
    "metaspace-never": Memoisation.EXACT,
    "lowercase-normalised-token": Memoisation.WHOLE,
    "lstrip": Memoisation.WHOLE,
    "rstrip": Memoisation.WHOLE,
    "single_word": Memoisation.WHOLE,
}


@cache
def loaded(kind: str) -> Tokenizer:
    return load_tokenizer(str(tokenizer_file(kind)))


_TEXT_WORDS = "the| quick|it's|We|\n| |  |\t|\n\n|.|123|é|e\u0301|北京|😀|[INST]|▁|<|[|x".split("|")
_TOKEN_WORDS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<s>>", "<think>", "<|X|>", "<|x|>", "|"]
_WORDS = st.sampled_from(_TEXT_WORDS + _TOKEN_WORDS)
_CONTENTS = st.lists(_WORDS, max_size=8).map("".join)
_CHATS = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant"]), _CONTENTS), min_size=1, max_size=5
)


@cache
def template_file(name: str) -> str:
    file = Path(_FOLDER.name) / f"{name}.jinja"
    file.write_text(TEMPLATES[name], "utf-8")
    return str(file)


def requests_of(chats: list[list[tuple[str, str]]]) -> list[Request]:
    store = PartStore()
    intern = store.interner(Dialect.OPENAI_CHAT, PartKind.MESSAGE)
    return [
        Request(
            request_id=str(line),
            file="log",
            line=line,
            dialect=Dialect.OPENAI_CHAT,
            parts=tuple(intern(json.dumps({"role": role, "content": text}).encode()) for role, text in chat),
        )
        for line, chat in enumerate(chats)
    ]


@pytest.mark.parametrize("template", sorted(TEMPLATES))
@pytest.mark.parametrize("kind", sorted(KINDS))
@given(chats=st.lists(_CHATS, min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_segments_encoded_once_give_the_ids_of_the_whole_prompt(
    kind: str, template: str, chats: list[list[tuple[str, str]]]
) -> None:
    tokenizer = loaded(kind)
    rendering = make_rendering(template_file(template), tokenizer)
    prompts = [
        [segment for part in rendering.render(request) for segment in part.segments]
        for request in requests_of(chats)
    ]
    ids, offsets = tokenizer.encode_segments(rendering.segments)
    for prompt in prompts:
        memoised = [i for s in prompt for i in ids[offsets[s.number] : offsets[s.number + 1]].tolist()]
        text = "".join(segment.text for segment in prompt)
        assert memoised == whole_prompt_ids(tokenizer_file(kind), text)
        assert memoised == tokenizer.encode_prompt(text).tolist()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_hazards_are_known_at_load(kind: str) -> None:
    assert loaded(kind).memoisation is KINDS[kind]


def test_without_special_tokens_messages_run_into_each_other() -> None:
    """What the whole-prompt rule is for: encoding message by message would give other ids."""
    tokenizer = loaded("byte-level")
    apart = [*tokenizer.encode("[INST] a [/INST]").tolist(), *tokenizer.encode(" b").tolist()]
    assert tokenizer.encode_prompt("[INST] a [/INST] b").tolist() == apart
    apart = [*tokenizer.encode("the qui").tolist(), *tokenizer.encode("ck").tolist()]
    assert tokenizer.encode_prompt("the quick").tolist() != apart


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(text=st.lists(_WORDS, max_size=14).map("".join))
@settings(max_examples=25, deadline=None)
def test_a_prompt_that_came_as_text_keeps_its_special_tokens(kind: str, text: str) -> None:
    tokenizer = loaded(kind)
    rendering = make_rendering(None, tokenizer)
    part = PartStore().intern(Dialect.TEXT, PartKind.TEXT, text.encode())
    rendered = rendering.render(Request("1", "log", 1, Dialect.TEXT, (part,)))
    segments = [segment for stretch in rendered for segment in stretch.segments]
    ids, _ = tokenizer.encode_segments(segments)
    assert ids.tolist() == whole_prompt_ids(tokenizer_file(kind), text)


_LINES = st.lists(
    st.sampled_from(
        [
            "\n",
            "\n",
            "\r\n",
            " ",
            "  ",
            "\t",
            "a",
            "Bc",
            "'s",
            "'",
            "1",
            ".",
            ";\n",
            "/",
            "//\n/",
            "é",
            "中",
            "\u2028",
            "\x85",
            "_",
        ]
    ),
    max_size=24,
).map("".join)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
@given(text=_LINES)
@settings(max_examples=200, deadline=None)
def test_a_cut_where_a_line_starts_with_a_letter_changes_no_ids(name: str, text: str) -> None:
    tokenizer = loaded_by_name(name)
    assert tokenizer.cuts_at_lines
    pieces = list(between_lines(text, 1))
    ids, _ = tokenizer.encode_batch(pieces)
    assert "".join(pieces) == text
    assert ids.tolist() == tokenizer.encode(text).tolist()


@cache
def loaded_by_name(name: str) -> Tokenizer:
    return load_tokenizer(name)


def test_no_other_tokenizer_is_cut_at_lines() -> None:
    assert not any(loaded(kind).cuts_at_lines for kind in KINDS)


def test_long_prompts_share_what_they_begin_with() -> None:
    lines = "".join(f"Line {n} of a long prompt, which is repeated.\n" for n in range(400))
    rendering = make_rendering(None, loaded_by_name("o200k"))
    store = PartStore()

    def prompt(text: str) -> list[int]:
        part = store.intern(Dialect.TEXT, PartKind.TEXT, text.encode())
        request = Request("1", "log", 1, Dialect.TEXT, (part,))
        rendered = rendering.render(request)
        assert list(rendering.paths(request)) == ["prompt"] * len(rendered)
        assert "".join(s.text for stretch in rendered for s in stretch.segments) == text
        return [stretch.number for stretch in rendered]

    first, second = prompt(lines + "One end"), prompt(lines + "Another end")
    assert len(first) > 5
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
