"""Where a chat template lies: a file of its own, or a Hugging Face tokenizer's folder."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzers.errors import InputError, UsageError

_TOKEN_KEYS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


@dataclass(frozen=True)
class TemplateSource:
    """A chat template's text, the name it is known by, and the special tokens it may use."""

    name: str
    text: str
    tokens: dict[str, str]


def find_template(name: str, folder: Path | None) -> TemplateSource:
    """The template in a file, or, for "tokenizer", the one in the tokenizer's folder."""
    tokens = _special_tokens(folder)
    if name != "tokenizer":
        path = Path(name).expanduser()
        if not path.is_file():
            raise UsageError(
                f"No chat template at {name}: give a file, or `tokenizer` for the tokenizer's own."
            )
        return TemplateSource(path.name, _template_in(path), tokens)
    if folder is None:
        raise UsageError(
            "This tokenizer has no folder to hold a chat template: give the template's file, or name a "
            "tokenizer by folder or hub name."
        )
    for file in ("chat_template.jinja", "chat_template.json", "tokenizer_config.json"):
        path = folder / file
        if path.is_file() and (file.endswith(".jinja") or "chat_template" in _json_in(path)):
            return TemplateSource(str(path), _template_in(path), tokens)
    raise UsageError(f"No chat template lies in {folder}: give the template's file.")


def _template_in(path: Path) -> str:
    if path.suffix != ".json":
        return _text_in(path)
    template = _json_in(path).get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default") or next(iter(named.values()), None)
    if not isinstance(template, str):
        raise InputError(f"{path} holds no chat_template.")
    return template


def _text_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error}") from error


def _json_in(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text_in(path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _special_tokens(folder: Path | None) -> dict[str, str]:
    """The special tokens that tokenizer_config.json names (`bos_token`, ...)."""
    path = folder / "tokenizer_config.json" if folder is not None else None
    if path is None or not path.is_file():
        return {}
    config = _json_in(path)
    tokens: dict[str, str] = {}
    for key in _TOKEN_KEYS:
        value = config.get(key)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            tokens[key] = text
    return tokens
