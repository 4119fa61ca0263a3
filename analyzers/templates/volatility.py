"""How often a value changes, judged by the names, calls and filters of its source.

A call is evidence: `now()` gives another text each time. A name is a hint: `question` very likely differs in
every request, `company_name` hardly ever. Names are read as English compounds, whose last telling word is the
head: `memory_instructions` are instructions, `user_question` is a question, `rules_part_two` are rules.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from analyzers.templates.parts import Cause, Condition, Guard, Scope, Value


@dataclass(frozen=True, slots=True)
class Verdict:
    """`scope` is None when nothing is known. `sure` is False for a guess by name alone."""

    cause: Cause
    scope: Scope | None
    sure: bool
    name: str = ""

    @property
    def rank(self) -> int:
        """For sorting by how often values change; an unknown one stands between user and session."""
        return Scope.USER.rank if self.scope is None else self.scope.rank

    @property
    def stable(self) -> bool:
        """True when the value is the same for everyone until the next release."""
        return self.scope is not None and self.scope.rank <= Scope.RELEASE.rank


SCOPES = {
    Cause.CONSTANT: Scope.GLOBAL,
    Cause.SPECIAL_TOKEN: Scope.GLOBAL,
    Cause.TOOLS: Scope.RELEASE,
    Cause.UNSORTED_JSON: Scope.SESSION,
    Cause.DATE: Scope.DAY,
    Cause.ENVIRONMENT: Scope.SESSION,
    Cause.IDENTITY: Scope.USER,
    Cause.PARAMETER: Scope.SESSION,
    Cause.SALTED_HASH: Scope.SESSION,
    Cause.CONVERSATION: Scope.TURN,
    Cause.HISTORY_WINDOW: Scope.TURN,
    Cause.IMAGE_REENCODED: Scope.REQUEST,
    Cause.COUNTER: Scope.TURN,
    Cause.RETRIEVED: Scope.TURN,
    Cause.USER_INPUT: Scope.REQUEST,
    Cause.CLOCK: Scope.REQUEST,
    Cause.RANDOM_ID: Scope.REQUEST,
    Cause.RANDOM_CHOICE: Scope.REQUEST,
    Cause.UNORDERED: Scope.REQUEST,
}
"""The usual scope of each cause."""


def _table(**words_by_cause: str) -> dict[str, Cause]:
    return {
        word: Cause(cause.replace("_", "-"))
        for cause, words in words_by_cause.items()
        for word in words.split()
    }


_WORDS = _table(
    clock="now timestamp timestamps datetime clock epoch time utcnow ts millis",
    date="date dates today todays day weekday weekend month year yesterday tomorrow season holiday",
    random_id="uuid guid ulid nonce nanoid cuid random rand salt signature traceparent",
    counter="turn iteration counter attempt step remaining left elapsed retries countdown",
    environment="hostname host pid cwd workdir directory folder branch commit environment env git worktree "
    "filesystem workspace cursor editor shell project repo repository",
    identity="user users username customer tenant account session email member employee patient student visitor "
    "caller profile organization organisation org client person firstname lastname nickname phone address "
    "admin premium subscription plan locale geolocation location",
    retrieved="memory memories context contexts doc docs document documents passage passages chunk chunks "
    "retrieved results snippet snippets source sources knowledge article articles citations rag hits recalled "
    "observation observations facts references evidence",
    user_input="question questions q query queries input inputs message utterance task topic ticket issue "
    "transcript diff patch problem goal review prompt request selection url essay sentence paragraph comment "
    "complaint feedback code stdout stderr traceback",
    conversation="messages history conversation dialog dialogue turns scratchpad thread chat",
    tools="tools functions tool function toolset",
    parameter="effort thinking verbosity temperature model mode",
    constant="rules rule guidelines guideline instructions persona policy policies bot assistant agent company "
    "brand product app application service style tone format formats schema schemas examples example shots fewshot "
    "template preamble header footer prefix suffix constraints definitions definition glossary static constant "
    "constants version limit zone timezone "
    "delimiter separator criteria rubric categories labels taxonomy disclaimer greeting boilerplate signoff",
)
_ALWAYS_STABLE = {
    "generation",
    "system",
    "base",
    "developer",
    "default",
    "core",
    "global",
    "static",
    "common",
    "shared",
}
_STABLE_ROOTS = {"config", "settings", "cfg", "conf", "constants", "const", "defaults"}
_STABLE_OVERRIDES = {Cause.USER_INPUT, Cause.RETRIEVED, Cause.IDENTITY, Cause.UNKNOWN, Cause.PARAMETER}
_ID_WORDS = {"id", "uid", "ids", "key"}
_PER_REQUEST_IDS = {
    "request",
    "trace",
    "message",
    "run",
    "correlation",
    "call",
    "event",
    "job",
    "span",
    "txn",
}
_PERSONAL = {"first", "last", "full", "given", "family", "display"}
_PER_SESSION_WORDS = {"start", "started", "session", "created", "joined", "conversation", "thread", "chat"}
_SPECIAL_TOKEN = re.compile(
    r"(?:^|_)(?:bos|eos|pad|unk|sep|cls|eot|eom|eoh|image|audio|video|im_start|im_end)_token"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_CALLS = {
    **dict.fromkeys(
        "now utcnow time time_ns strftime_now strftime perf_counter monotonic localtime gmtime ctime asctime "
        "currentTimeMillis timestamp utc_now timezone_now".split(),
        Cause.CLOCK,
    ),
    **dict.fromkeys(["today", "current_date", "todays_date"], Cause.DATE),
    **dict.fromkeys(
        "uuid1 uuid3 uuid4 uuid5 uuid6 uuid7 uuid token_hex token_urlsafe token_bytes urandom randint randrange "
        "getrandbits randbytes random uniform nanoid ulid cuid generate_id new_id make_id ObjectId".split(),
        Cause.RANDOM_ID,
    ),
    **dict.fromkeys(
        ["choice", "choices", "sample", "shuffle", "shuffled", "permutation", "lipsum"], Cause.RANDOM_CHOICE
    ),
    **dict.fromkeys(
        "gethostname getpid getcwd getuser getlogin getfqdn node environ getenv uname".split(),
        Cause.ENVIRONMENT,
    ),
    **dict.fromkeys(
        ["listdir", "glob", "iglob", "scandir", "rglob", "iterdir", "as_completed"], Cause.UNORDERED
    ),
    "hash": Cause.SALTED_HASH,
}
_FILTERS = {"random": Cause.RANDOM_CHOICE, "shuffle": Cause.RANDOM_CHOICE, "hash": Cause.SALTED_HASH}
_PURE_CALLS = set(
    "strip lstrip rstrip upper lower title capitalize replace split rsplit splitlines join format get items keys "
    "values range len str int list dict namespace trim startswith endswith find count index raise_exception "
    "cycler joiner isoformat date append insert sort copy string strftime super caller loop self encode decode".split()
)
_TIME_OF_DAY = re.compile(r"%-?[HIMSfXcpsT]|(?<![A-Za-z])(?:HH|hh):?mm|\bH:i|isoformat|timestamp", re.ASCII)
_DAY_FORMAT = re.compile(r"%-?[dBbmYyjAaeFDx]|\.date\(\)|\|\s*date\b")


def judge(value: Value, scopes: Mapping[str, Scope] = {}) -> Verdict:
    """How often the value changes. `scopes` are those given by hand, by name, dotted name or pattern with `*`."""
    by_hand = _scope_by_hand((*value.names, value.expression), scopes)
    if value.cause is not None:
        verdict = Verdict(value.cause, SCOPES.get(value.cause), True, value.expression)
    else:
        verdict = _judge_source(value.expression, value.names, value.calls, value.filters)
    scope = value.scope or by_hand
    if scope is None:
        return verdict
    cause = Cause.CONSTANT if scope.rank <= Scope.RELEASE.rank else verdict.cause
    if cause is Cause.CONSTANT and scope.rank > Scope.RELEASE.rank:
        cause = Cause.UNKNOWN
    return Verdict(cause, scope, True, verdict.name)


def judge_guard(guard: Guard, scopes: Mapping[str, Scope] = {}) -> Verdict:
    """How often the outcome of an `if`, or what a `for` iterates, changes."""
    source = guard.test if isinstance(guard, Condition) else guard.over
    by_hand = _scope_by_hand(guard.names, scopes)
    verdict = _judge_source(source, guard.names, guard.calls, ())
    if by_hand is None:
        return verdict
    return Verdict(verdict.cause, by_hand, True, verdict.name)


def _scope_by_hand(names: Iterable[str], scopes: Mapping[str, Scope]) -> Scope | None:
    if not scopes:
        return None
    from fnmatch import fnmatchcase

    found = [
        scope
        for name in names
        for pattern, scope in scopes.items()
        if name == pattern or fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")
    ]
    return max(found, key=lambda scope: scope.rank, default=None)


def _judge_source(
    expression: str, names: tuple[str, ...], calls: tuple[str, ...], filters: tuple[str, ...]
) -> Verdict:
    verdicts = [_judge_call(call, expression) for call in calls]
    verdicts += [
        Verdict(_FILTERS[name], SCOPES[_FILTERS[name]], True, name) for name in filters if name in _FILTERS
    ]
    verdicts += [judge_name(name) for name in names]
    found = [verdict for verdict in verdicts if verdict is not None]
    if not found:
        return Verdict(Cause.CONSTANT, Scope.GLOBAL, True, expression)
    return max(found, key=lambda verdict: (verdict.rank, verdict.sure))


def _judge_call(call: str, expression: str) -> Verdict | None:
    owner, _, last = call.partition("(")[0].rpartition(".")
    if last == "strftime" and owner.rpartition(".")[2] not in ("time", "datetime"):
        return None
    cause = _CALLS.get(last)
    if cause is None:
        if last in _PURE_CALLS:
            return None
        verdict = judge_name(last)
        return None if verdict.cause is Cause.UNKNOWN and owner else verdict
    if cause is Cause.CLOCK and _only_the_day(call, expression):
        cause = Cause.DATE
    return Verdict(cause, SCOPES[cause], True, call)


def _only_the_day(call: str, expression: str) -> bool:
    shown = call if _DAY_FORMAT.search(call) or _TIME_OF_DAY.search(call) else expression
    return bool(_DAY_FORMAT.search(shown)) and not _TIME_OF_DAY.search(shown)


@lru_cache(maxsize=4096)
def judge_name(name: str) -> Verdict:
    """What a dotted name suggests: `user.name` is identity, `currentDate` a date, `RULES` a constant."""
    if name.isupper() or _SPECIAL_TOKEN.search(name):
        cause = Cause.SPECIAL_TOKEN if "token" in name.lower() else Cause.CONSTANT
        return Verdict(cause, Scope.GLOBAL, False, name)
    words = [word.lower() for word in _WORD.findall(name)]
    if name.partition(".")[0].lower() in _STABLE_ROOTS:
        return Verdict(Cause.CONSTANT, Scope.RELEASE, False, name)
    cause = next((_WORDS[word] for word in reversed(words) if word in _WORDS), Cause.UNKNOWN)
    if "name" in words and _PERSONAL.intersection(words):
        cause = Cause.IDENTITY
    if words and words[-1] in _ID_WORDS and _PER_REQUEST_IDS.intersection(words):
        cause = Cause.RANDOM_ID
    if cause in _STABLE_OVERRIDES and _ALWAYS_STABLE.intersection(words):
        cause = Cause.CONSTANT
    scope = SCOPES.get(cause)
    if cause is Cause.CONSTANT:
        scope = Scope.RELEASE
    elif cause in (Cause.CLOCK, Cause.DATE, Cause.IDENTITY) and _PER_SESSION_WORDS.intersection(words):
        scope = Scope.SESSION
        cause = Cause.DATE if cause is Cause.CLOCK else cause
    return Verdict(cause, scope, False, name)
