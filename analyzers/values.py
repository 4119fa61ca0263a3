"""What a changing value looks like: a clock, a date, an id, a counter … A pattern names a value that was found to
change; it never finds one."""

import re
from collections import Counter
from collections.abc import Sequence

from analyzers.divergence import ValueKind

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?"
_DATE = (
    rf"{_DAY}(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH},?\s+\d{{4}}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}})"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp]\.?[Mm]\.?)?(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_STAMP = re.compile(rf"{_DATE}(?:T|,?\s+(?:at\s+)?){_TIME}|(?<![\d:]){_TIME}(?![\d:])")
_EPOCH = re.compile(r"(?<!\d)1[5-9]\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?(?!\d)")
_DAY_ONLY = re.compile(_DATE)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:-?(?:alpha|beta|rc|dev)\.?\d*)?", re.I)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?%?")
_WORD = re.compile(r"[^\s\"'`<>(){}\[\]=;|]+")

_ENVIRONMENT = re.compile(
    r"\b(?:git|branch|commit|working dir\w*|cwd|path|folder|directory|hostname|host|os|platform|shell|pid"
    r"|uncommitted|workspace|open files?|env\w*)\b",
    re.I,
)
_IDENTITY = re.compile(
    r"\b(?:user|customer|client|tenant|account|member|e-?mail|name|signed in|logged in|organi[sz]ation)\b",
    re.I,
)
_RETRIEVED = re.compile(
    r"\b(?:memor(?:y|ies)|recall\w*|retrieved|passages?|documents?|search results?|context|knowledge|snippets?|facts?|remember\w*"
    r"|sources?|excerpts?)\b",
    re.I,
)
_COUNTER = re.compile(r"\b(?:turn|step|message|iteration|attempt|round|count|remaining|left|budget|used|number|no)\b", re.I)  # fmt: skip
_PATH = re.compile(r"(?:~|\.{0,2})/[\w.-]+(?:/[\w.-]+)*|[A-Z]:\\[\w.\\-]+")


def widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The span grown to whole words, and to the whole date or time that it lies in."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    left, right = max(line_start, start - 80), min(line_end, end + 80)
    if end - start <= 200:
        for pattern in (_STAMP, _DAY_ONLY):
            for match in pattern.finditer(text, left, right):
                if match.start() < max(end, start + 1) and match.end() > start:
                    start, end = min(start, match.start()), max(end, match.end())
    for match in _WORD.finditer(text, left, right):
        if match.start() < end and match.end() > start and match.end() - match.start() <= 80:
            start, end = min(start, match.start()), max(end, match.end())
    return start, end


def kind_of_value(value: str, left: str) -> ValueKind:
    """What one value looks like. `left` is the text in front of it."""
    text = value.strip()
    if len(text) <= 120 and _fills(_STAMP, text, 0.5):
        return ValueKind.CLOCK
    if _EPOCH.fullmatch(text):
        return ValueKind.CLOCK
    if len(text) <= 120 and _fills(_DAY_ONLY, text, 0.5):
        return ValueKind.DATE
    label = left.rsplit("\n", 1)[-1][-60:] + " "
    if len(text.split()) >= 6 or "\n" in text:
        if _ENVIRONMENT.search(left[-200:]) and not _RETRIEVED.search(left[-200:]):
            return ValueKind.ENVIRONMENT
        return ValueKind.RETRIEVED
    if _NUMBER.fullmatch(text) or re.fullmatch(r"\d+\s*(?:of|/)\s*\d+", text):
        return ValueKind.COUNTER
    if _ENVIRONMENT.search(label) or _PATH.fullmatch(text):
        return ValueKind.ENVIRONMENT
    if "@" in text:
        return ValueKind.IDENTITY
    if _is_id(text):
        return ValueKind.RANDOM_ID
    if _IDENTITY.search(label):
        return ValueKind.IDENTITY
    if _COUNTER.search(label) and _NUMBER.search(text):
        return ValueKind.COUNTER
    if _ENVIRONMENT.search(left[-200:]):
        return ValueKind.ENVIRONMENT
    near = " ".join(left.split("\n")[-2:])[-120:]
    return ValueKind.RETRIEVED if _RETRIEVED.search(near) else ValueKind.OTHER


def names_somebody(label: str) -> bool:
    """Whether a label says that a user, customer, account … follows."""
    return _IDENTITY.search(label) is not None


def _is_id(text: str) -> bool:
    """One word that mixes letters and digits as words of a language do not."""
    plain = re.sub(r"[-_.:/]", "", text)
    mixed = any(c.isdigit() for c in plain) and any(c.isalpha() for c in plain)
    return len(plain) >= 5 and plain.isalnum() and mixed and not _VERSION.fullmatch(text)


def _fills(pattern: re.Pattern[str], text: str, share: float) -> bool:
    return sum(len(m[0]) for m in pattern.finditer(text)) >= share * max(1, len(text))


def kind_of_values(values: Sequence[tuple[str, str]]) -> ValueKind:
    """What most of the (value, text in front of it) pairs look like; OTHER where no kind has half of them."""
    counts = Counter(kind_of_value(value, left) for value, left in values if value.strip())
    if not counts:
        return ValueKind.OTHER
    kind, count = counts.most_common(1)[0]
    return kind if 2 * count >= counts.total() else ValueKind.OTHER
