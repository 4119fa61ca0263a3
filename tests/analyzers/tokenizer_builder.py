"""Small tokenizer.json files of the kinds that matter, built on the spot, and the ids they must give."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

_TEXT = [
    "the quick brown fox jumps over the lazy dog, and then it's over: we've seen them all, haven't we?",
    "def main(argv):\n    return [int(x) for x in argv if x.isdigit()]\n\n\nif __name__ == '__main__':\n",
    '{"role": "user", "content": "what is the weather in Paris today?", "n": 12345}',
    "les élèves étudient à l'école où ça se passe. 北京是中国的首都 東京",
] * 3


def special(content: str, **flags: bool) -> AddedToken:
    return AddedToken(content, **{"special": True, "normalized": False, **flags})


CHAT_TOKENS = [special("<|im_start|>"), special("<|im_end|>"), special("<s>"), special("</s>")]


def byte_level(
    file: Path, added: list[AddedToken] | None = None, normalizer: normalizers.Normalizer | None = None
) -> Path:
    """Byte-level BPE, as GPT-2, Llama 3, Qwen and DeepSeek have it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_TEXT, trainer)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_tokens(CHAT_TOKENS if added is None else added)
    tokenizer.save(str(file))
    return file


def metaspace(file: Path, scheme: str) -> Path:
    """SentencePiece-like BPE with byte fallback, as Llama 2 has it; `scheme` is first, always or never."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, split=False)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_TEXT, trainer)
    tokenizer.add_tokens([special("<s>"), special("</s>")])
    tokenizer.save(str(file))
    return edited(file, lambda definition: _without_bytes(definition))


def _without_bytes(definition: dict[str, Any]) -> None:
    """The trainer made byte tokens special; in real files they are plain vocabulary."""
    definition["added_tokens"] = [t for t in definition["added_tokens"] if not t["content"].startswith("<0x")]


def edited(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    definition = json.loads(file.read_text("utf-8"))
    change(definition)
    file.write_text(json.dumps(definition, ensure_ascii=False), "utf-8")
    return file


def whole_prompt_ids(file: Path, text: str) -> list[int]:
    """The ids that Hugging Face tokenizers give a rendered prompt."""
    ids: list[int] = _loaded(file).encode(text, add_special_tokens=False).ids
    return ids


@cache
def _loaded(file: Path) -> Tokenizer:
    return Tokenizer.from_file(str(file))
