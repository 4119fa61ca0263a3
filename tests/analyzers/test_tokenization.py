"""Ids must be those of the reference: tiktoken for o200k and cl100k, Hugging Face tokenizers for the rest."""

import base64
import gzip
import hashlib
import shutil
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import normalizers

from analyzers.errors import InputError, UsageError
from analyzers.rendering import Segment
from analyzers.tokenization import FIRST_VIRTUAL_ID, Memoisation, Tokenizer, choose_tokenizer, load_tokenizer
from analyzers.tokenizers.engines import Gigatoken, HuggingFace, PurePython, encode_batch
from analyzers.tokenizers.vocabularies import find_vocabulary
from tests.analyzers.tokenizer_builder import byte_level, edited, metaspace, special
from tests.file_size_limit import files_of_at_most

# The regular expressions and special tokens of tiktoken 0.14's published encodings.
_O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
_PUBLISHED = {
    "o200k": (_O200K, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k": (_CL100K, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}

CORPUS = [
    "",
    " ",
    "The quick brown fox jumps over the lazy dog. It's they'RE we'Ve I'd DON'T o'clock",
    "def f(x):\n\treturn x ** 2  # square\n\n\n    if (a != b) { c->d[0] += 0x1F; }\r\n\r\n//end\n/\n",
    "   leading, trailing   \n \n\t mixed \t \u00a0 \u3000 \u2003 runs" + " " * 90 + "of  spaces  \n\n\n\n",
    "北京是中国的首都。東京へ行きました。カタカナ 한국어 문장입니다 ไทยภาษา हिन्दी العربية עברית Ελληνικά Привет",
    "😀👩‍👩‍👧‍👦🏳️‍🌈 👍🏽 \u200d\ufe0f \u200b\ufeff ∑∫√ → ░▒▓ e\u0301 ﬁ ß ǅ İı ſ K",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "n": [1, 2.5e-3, null, true]}}',
    "https://example.com/a/b?c=d&e=%20f#g user@host.org C:\\Temp\\x.txt 2026-11-29T15:27:00Z 1234567890",
    "a" * 3_000,
    "ab1" * 2_000,
    base64.b64encode(hashlib.sha512(b"x").digest() * 40).decode(),
    "漢" * 1_500,
    "\n" * 700 + " " * 700 + "\t" * 700,
    "<|endoftext|> <|im_start|>user<|endofprompt|>\u00ad\x00\x1f\x7f\x85\u2028\u2029\ufffd\U0010ffff",
]

# Python 3.11 knows Unicode 14, which all the engines' tables contain.
ASSIGNED = st.characters(exclude_categories=["Cs", "Cn"])
PIECES = st.one_of(
    st.text(ASSIGNED, max_size=6),
    st.sampled_from(
        [
            "'s",
            "'LL",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "//",
            "\n/",
            "123",
            "٣",
            "é",
            "\u0301",
            "中",
            "한",
            "😀",
            "Ab",
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@cache
def tokenizer_called(name: str) -> Tokenizer:
    return load_tokenizer(name)


@cache
def tiktoken_called(name: str) -> tiktoken.Encoding:
    pattern, _ = _PUBLISHED[name]
    rows = (line.split() for line in find_vocabulary(name).data.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_packaged_vocabulary_is_the_published_one(name: str) -> None:
    assert tokenizer_called(name).fingerprint == _PUBLISHED[name][1]


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_ids_are_those_of_tiktoken_on_the_corpus(name: str) -> None:
    texts = [*CORPUS, *(a[:60] + b[:60] for a in CORPUS for b in CORPUS)]
    ids, offsets = tokenizer_called(name).encode_batch(texts)
    for index, text in enumerate(texts):
        expected = tiktoken_called(name).encode_ordinary(text)
        assert ids[offsets[index] : offsets[index + 1]].tolist() == expected, text[:80]


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_ids_are_those_of_tiktoken(name: str, text: str) -> None:
    assert tokenizer_called(name).encode(text).tolist() == tiktoken_called(name).encode_ordinary(text)


@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_deepseek_ids_are_those_of_hugging_face(text: str) -> None:
    assert tokenizer_called("deepseek").encode(text).tolist() == _hugging_face_deepseek().encode(text).ids


@cache
def _hugging_face_deepseek() -> HuggingFaceTokenizer:
    core = HuggingFaceTokenizer.from_buffer(find_vocabulary("deepseek").data)
    core.post_processor = None
    core.encode_special_tokens = True
    return core


def test_known_vocabularies_use_the_fast_engine_and_are_exact() -> None:
    for name in ("o200k", "cl100k", "deepseek"):
        tokenizer = tokenizer_called(name)
        assert isinstance(tokenizer.engine, Gigatoken)
        assert tokenizer.memoisation is Memoisation.EXACT
        assert tokenizer.notes == ()


@pytest.mark.parametrize("name", ["o200k", "deepseek"])
def test_a_released_tokenizer_gives_the_same_ids(name: str) -> None:
    tokenizer = load_tokenizer(name)
    before, virtual = tokenizer.encode(CORPUS[5]).tolist(), tokenizer.special_id("<|new|>")
    tokenizer.release()
    assert tokenizer.encode(CORPUS[5]).tolist() == before
    assert tokenizer.special_id("<|new|>") == virtual


def test_without_the_fast_engine_encoding_is_slow_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.tokenization.find_spec", lambda _: None)
    tokenizer = load_tokenizer("cl100k")
    assert isinstance(tokenizer.engine, PurePython)
    assert "100 times slower" in tokenizer.notes[0]
    assert tokenizer.encode(CORPUS[2]).tolist() == tokenizer_called("cl100k").encode(CORPUS[2]).tolist()


def test_the_pure_python_engine_gives_the_same_ids() -> None:
    slow = PurePython(find_vocabulary("o200k"))
    ids, offsets = encode_batch(slow, CORPUS[:9])
    fast_ids, fast_offsets = tokenizer_called("o200k").encode_batch(CORPUS[:9])
    assert np.array_equal(offsets, fast_offsets)
    assert np.array_equal(ids, fast_ids)


def test_batches_keep_the_order_of_texts_of_every_length() -> None:
    texts = ["x " * 40_000, "", "a", "b c d", "y" * 7, "z " * 300, "a"] * 3
    ids, offsets = tokenizer_called("o200k").encode_batch(texts)
    assert ids.dtype == np.uint32
    assert offsets.dtype == np.int64
    for index, text in enumerate(texts):
        assert (
            ids[offsets[index] : offsets[index + 1]].tolist()
            == tokenizer_called("o200k").encode(text).tolist()
        )


def test_an_empty_batch_has_no_ids() -> None:
    ids, offsets = tokenizer_called("o200k").encode_batch([])
    assert (len(ids), offsets.tolist()) == (0, [0])


def test_text_that_spells_a_special_token_is_ordinary_text() -> None:
    tokenizer = tokenizer_called("o200k")
    assert 199_999 not in tokenizer.encode("<|endoftext|>")
    assert tokenizer.encode_prompt("a<|endoftext|>b").tolist() == [64, 199_999, 65]
    deepseek = tokenizer_called("deepseek")
    bos = deepseek.special_id("<｜begin▁of▁sentence｜>")
    assert bos not in deepseek.encode("<｜begin▁of▁sentence｜>")
    assert bos in deepseek.encode_prompt("<｜begin▁of▁sentence｜>hi")


@pytest.mark.parametrize("name", ["o200k", "deepseek"])
def test_lone_surrogates_read_as_replacement_characters(name: str) -> None:
    tokenizer = tokenizer_called(name)
    assert tokenizer.encode("a\ud800b").tolist() == tokenizer.encode("a\ufffdb").tolist()
    assert tokenizer.encode("\ud83d\ude00").tolist() == tokenizer.encode("😀").tolist()


def test_special_tokens_have_their_own_id_or_a_virtual_one() -> None:
    tokenizer = load_tokenizer("o200k")
    assert tokenizer.special_id("<|endoftext|>") == 199_999
    start, end = tokenizer.special_id("<|im_start|>"), tokenizer.special_id("<|im_end|>")
    assert start >= FIRST_VIRTUAL_ID
    assert end >= FIRST_VIRTUAL_ID
    assert start != end
    assert tokenizer.special_id("<|im_start|>") == start


def test_segments_of_every_kind_are_encoded_in_their_order() -> None:
    tokenizer = tokenizer_called("o200k")
    segments = [
        Segment(0, "<|im_start|>", True),
        Segment(1, "user", False),
        Segment(2, "image:abc", True, repeat=3),
        Segment(3, "hi<|endoftext|>", False, whole=True),
        Segment(4, "hi<|endoftext|>", False),
    ]
    ids, offsets = tokenizer.encode_segments(segments)
    image = tokenizer.special_id("image:abc")
    assert np.diff(offsets).tolist() == [1, 1, 3, 2, len(tokenizer.encode("hi<|endoftext|>"))]
    assert ids[: offsets[1]].tolist() == [tokenizer.special_id("<|im_start|>")]
    assert ids[offsets[2] : offsets[3]].tolist() == [image] * 3
    assert ids[offsets[3] : offsets[4]].tolist() == [*tokenizer.encode("hi").tolist(), 199_999]


@pytest.mark.parametrize("name", ["o200k", "cl100k", "deepseek"])
def test_byte_lengths_of_ids_add_up_to_the_text(name: str) -> None:
    tokenizer = tokenizer_called(name)
    lengths = tokenizer.token_byte_lengths()
    assert lengths is not None
    for text in CORPUS:
        assert lengths[tokenizer.encode(text)].sum() == len(text.encode())


def test_byte_lengths_are_unknown_where_ids_are_not_bytes(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(metaspace(tmp_path / "tokenizer.json", "first")))
    assert tokenizer.token_byte_lengths() is None


@pytest.mark.parametrize("name", ["o200k", "deepseek"])
def test_line_ends_are_the_ids_with_a_line_end_in_them(name: str) -> None:
    tokenizer = tokenizer_called(name)
    ends = tokenizer.line_ends()
    ids = tokenizer.encode("one\ntwo;\n\nthree")
    assert ends[ids].sum() == 2
    assert ends[tokenizer.encode("no end here")].sum() == 0


def test_line_ends_of_byte_tokens(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(metaspace(tmp_path / "tokenizer.json", "always")))
    assert tokenizer.line_ends()[tokenizer.encode("a\nb")].sum() == 1


def test_vocabulary_by_file_folder_and_packed_file(tmp_path: Path) -> None:
    raw = find_vocabulary("cl100k").data
    folder = tmp_path / "vocabulary"
    folder.mkdir()
    (folder / "cl100k_base.tiktoken").write_bytes(raw)
    (tmp_path / "cl100k_base.tiktoken.gz").write_bytes(gzip.compress(raw))
    for name in (folder, folder / "cl100k_base.tiktoken", tmp_path / "cl100k_base.tiktoken.gz"):
        tokenizer = load_tokenizer(str(name))
        assert tokenizer.fingerprint == _PUBLISHED["cl100k"][1]
        assert tokenizer.encode("hello").tolist() == tokenizer_called("cl100k").encode("hello").tolist()


def test_a_hub_name_is_fetched_with_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    byte_level(tmp_path / "tokenizer.json")
    asked = []

    def fetch(repository: str, file: str) -> str:
        asked.append((repository, file))
        if not (tmp_path / file).is_file():
            raise EntryNotFoundError("no such file")
        return str(tmp_path / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    tokenizer = load_tokenizer("acme/model-7b")
    assert tokenizer.folder == tmp_path
    assert tokenizer.is_own_for("acme/model-7b") is True
    assert [file for _, file in asked] == ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match=r"Cannot fetch tokenizer\.json of acme/model-7b"):
        load_tokenizer("acme/model-7b")


def test_a_rank_file_of_unknown_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.tiktoken").write_bytes(find_vocabulary("cl100k").data)
    with pytest.raises(UsageError, match=r"how its encoding splits text"):
        load_tokenizer(str(tmp_path / "mine.tiktoken"))


def test_what_cannot_be_a_tokenizer_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No tokenizer 'nonesuch'"):
        load_tokenizer("nonesuch")
    with pytest.raises(UsageError, match=r"holds no tokenizer\.json"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "cut.json").write_text('{"model": {"type": "BPE", "vocab"')
    with pytest.raises(InputError, match=r"is not a tokenizer\.json"):
        load_tokenizer(str(tmp_path / "cut.json"))
    (tmp_path / "other.json").write_text('{"version": 1}')
    with pytest.raises(InputError, match="has no model"):
        load_tokenizer(str(tmp_path / "other.json"))
    (tmp_path / "odd.json").write_text('{"model": {"type": "Nothing"}}')
    with pytest.raises(InputError, match="Cannot read the tokenizer"):
        load_tokenizer(str(tmp_path / "odd.json"))
    (tmp_path / "o200k_base.tiktoken").write_text("not ranks at all")
    with pytest.raises(InputError, match="Cannot read the tokenizer"):
        load_tokenizer(str(tmp_path / "o200k_base.tiktoken"))


def test_a_cutoff_in_the_file_does_not_cut_text(tmp_path: Path) -> None:
    def cutoff(definition: dict[str, object]) -> None:
        definition["truncation"] = {
            "direction": "Right",
            "max_length": 4,
            "strategy": "LongestFirst",
            "stride": 0,
        }

    file = edited(byte_level(tmp_path / "tokenizer.json", normalizer=normalizers.Lowercase()), cutoff)
    tokenizer = load_tokenizer(str(file))
    assert len(tokenizer.encode("the quick brown fox jumps over the lazy dog")) > 4
    assert len(HuggingFace(file.read_bytes()).encode_prompt("the quick brown fox jumps over it")) > 4


@pytest.mark.parametrize(
    ("flags", "memoisation"),
    [
        ({}, Memoisation.EXACT),
        ({"lstrip": True}, Memoisation.WHOLE),
        ({"rstrip": True}, Memoisation.WHOLE),
        ({"single_word": True}, Memoisation.WHOLE),
    ],
)
def test_tokens_that_look_at_their_neighbours_are_noticed(
    tmp_path: Path, flags: dict[str, bool], memoisation: Memoisation
) -> None:
    file = byte_level(tmp_path / "tokenizer.json", added=[special("<|x|>", **flags)])
    tokenizer = load_tokenizer(str(file))
    assert tokenizer.memoisation is memoisation
    assert any("encoded whole" in note for note in tokenizer.notes) == (memoisation is Memoisation.WHOLE)


def test_special_tokens_searched_in_normalised_text_are_noticed(tmp_path: Path) -> None:
    added = [special("<|X|>", normalized=True)]
    plain = byte_level(tmp_path / "plain.json", added=added)
    lower = byte_level(tmp_path / "lower.json", added=added, normalizer=normalizers.Lowercase())
    assert load_tokenizer(str(plain)).memoisation is Memoisation.EXACT
    assert load_tokenizer(str(lower)).memoisation is Memoisation.WHOLE


@pytest.mark.parametrize("scheme", ["first", "always", "never"])
def test_metaspace_at_the_start_is_noticed(tmp_path: Path, scheme: str) -> None:
    tokenizer = load_tokenizer(str(metaspace(tmp_path / "tokenizer.json", scheme)))
    expected = Memoisation.BEHIND_SENTINEL if scheme == "first" else Memoisation.EXACT
    assert tokenizer.memoisation is expected


@pytest.mark.parametrize(
    ("model", "name", "own"),
    [
        ("gpt-4o-2024-08-06", "o200k", True),
        ("openai/gpt-4.1-mini", "o200k", True),
        ("gpt-5", "o200k", True),
        ("gpt-5.1-codex", "o200k", True),
        ("o4-mini-2025-04-16", "o200k", True),
        ("ft:gpt-4o:acme:x", "o200k", True),
        ("gpt-4-0613", "cl100k", True),
        ("gpt-3.5-turbo-0125", "cl100k", True),
        ("gpt-oss-120b", "o200k_harmony", True),
        ("deepseek/deepseek-chat", "deepseek", True),
        ("claude-sonnet-4-5", "o200k", False),
        ("gemini-2.5-pro", "o200k", False),
        ("gpt-6", "o200k", False),
        ("meta-llama/Llama-3.3-70B-Instruct", "o200k", False),
        (None, "o200k", None),
    ],
)
def test_the_tokenizer_follows_the_model(model: str | None, name: str, own: bool | None) -> None:
    choice = choose_tokenizer(model, "some provider")
    assert (choice.name, choice.is_own) == (name, own)
    assert ("stand-in" in choice.note) == (own is False)
    if model is not None and own is not None:
        assert tokenizer_called(name).is_own_for(model) is own


def test_a_named_file_is_neither_own_nor_stand_in_unless_its_name_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "Qwen3-8B"
    folder.mkdir()
    byte_level(folder / "tokenizer.json")
    tokenizer = load_tokenizer(str(folder))
    assert tokenizer.is_own_for("Qwen/Qwen3-8B") is True
    assert tokenizer.is_own_for("some-other-model") is None
    shutil.rmtree(folder)


def test_every_character_python_knows_is_encoded_as_tiktoken_does() -> None:
    known = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    texts = ["x".join(known[start : start + 500]) for start in range(0, len(known), 500)]
    ids, offsets = tokenizer_called("o200k").encode_batch(texts)
    for index, text in enumerate(texts):
        assert ids[offsets[index] : offsets[index + 1]].tolist() == tiktoken_called("o200k").encode_ordinary(
            text
        )


def test_ranks_that_cannot_be_laid_down_for_the_engine_are_said_to_need_room() -> None:
    with (
        files_of_at_most(20_000),
        pytest.raises(InputError, match=r"needs 3\.6 MB in a temporary folder .*: File too large; .*TMPDIR"),
    ):
        Gigatoken.from_ranks(find_vocabulary("o200k"))
