"""What came back from a call: the answer as logged, its usage, its model, and when it was made."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from analyzers.logs.body import Field, sent
from analyzers.logs.event_streams import response_of_stream
from analyzers.usage import Usage, normalise_usage

LARGEST_COUNT: Final = 2**53
"""A counter from here on cannot be a number of tokens and is not carried on."""


@dataclass(slots=True)
class Answer:
    """`output` is the assistant's message (Chat), content (Messages, Gemini), output items (Responses) or
    message (Converse) as raw JSON, UTF-8 text where only text was logged, None where nothing was.
    """

    output: bytes | None = None
    usage: Usage | None = None
    model: str | None = None
    response_id: str | None = None
    created: Any = None
    """When the answer was made, as the provider writes it."""
    first_token: Any = None
    ended: Any = None
    failed: str | None = None
    """Why there is no answer: an HTTP status or an error type."""


class _Response(Struct):
    id: Any = None
    type: Any = None
    model: Any = None
    model_version: Any = field(name="modelVersion", default=None)
    usage: Field = UNSET
    usage_metadata: Field = field(name="usageMetadata", default=UNSET)
    usage_metadata_snake: Field = field(name="usage_metadata", default=UNSET)
    meta: Field = UNSET
    service_tier: Any = None
    choices: Field = UNSET
    content: Field = UNSET
    output: Field = UNSET
    candidates: Field = UNSET
    message: Field = UNSET
    text: Field = UNSET
    created: Any = None
    created_at: Any = None
    create_time: Any = field(name="createTime", default=None)
    error: Field = UNSET
    # An HTTP response around the body
    body: "_Response | str | UnsetType | None" = UNSET
    body_raw: str | None = None
    status_code: Any = None
    status: Any = None
    timestamp: Any = None
    first_token_at: Any = None
    first_token_time: Any = None


class _Choice(Struct):
    message: Field = UNSET
    text: str | None = None


class _Candidate(Struct):
    content: Field = UNSET


class _Message(Struct):
    message: Field = UNSET


_RESPONSE = msgspec.json.Decoder(_Response)
_CHOICES = msgspec.json.Decoder(list[_Choice])
_CANDIDATES = msgspec.json.Decoder(list[_Candidate])
_OUTPUT = msgspec.json.Decoder(_Message)
_COUNTERS = msgspec.json.Decoder(dict[str, Any])


def read_answer(raw: bytes) -> Answer:
    """The answer in a response: a body in any dialect, an HTTP response, a stream of events, or text.

    Raises msgspec.DecodeError for a response in no such shape.
    """
    if raw[:1] == b'"':
        return _of_text(msgspec.json.decode(raw, type=str))
    if raw[:1] != b"{":
        return Answer(output=raw) if raw[:1] == b"[" else Answer()
    response = _RESPONSE.decode(raw)
    status = response.status_code if response.status_code is not None else response.status
    if isinstance(status, int) and status >= 400:
        return Answer(failed=f"HTTP {status}")
    inner = response.body
    if isinstance(inner, _Response):
        answer = _of_response(inner)
    elif response.body_raw or (isinstance(inner, str) and inner):
        answer = _of_text(response.body_raw or str(inner))
    else:
        answer = _of_response(response)
    answer.first_token = response.first_token_at or response.first_token_time
    answer.ended = response.timestamp
    return answer


def usage_of(counters: Mapping[str, Any] | None, tier: Any = None) -> Usage | None:
    """The inclusive usage of a raw usage object, None where there is none.

    `tier` is a service tier stated beside the usage. Counters no prompt can have are left out and named.
    """
    if not counters:
        return None
    tokens = counters.get("tokens")
    if isinstance(tokens, Mapping):  # Cohere
        counters = {**counters, **tokens}
    if isinstance(tier, str) and "service_tier" not in counters:
        counters = {**counters, "service_tier": tier}
    usage = normalise_usage(counters)
    counts = (usage.prompt_tokens, usage.read_tokens, usage.written_tokens, usage.output_tokens)
    if max(map(_size, counts)) < LARGEST_COUNT:
        return usage
    return replace(
        usage,
        prompt_tokens=_kept(usage.prompt_tokens),
        read_tokens=_kept(usage.read_tokens),
        written=usage.written if _size(usage.written_tokens) < LARGEST_COUNT else None,
        output_tokens=_kept(usage.output_tokens),
        problems=(*usage.problems, "a counter is far beyond any number of tokens and was left out"),
    )


def _of_text(text: str) -> Answer:
    start = text.lstrip()
    if start[:1] == "{":
        try:
            return read_answer(start.encode())
        except msgspec.DecodeError:
            pass
    response = response_of_stream(text)
    if response is not None:
        return read_answer(msgspec.json.encode(response))
    return Answer(output=text.encode("utf-8", "surrogatepass")) if text else Answer()


def _of_response(response: _Response) -> Answer:
    counters = sent(response.usage) or sent(response.usage_metadata) or sent(response.usage_metadata_snake)
    counters = counters or sent(response.meta)
    decoded = _COUNTERS.decode(counters) if counters is not None and counters[:1] == b"{" else None
    model = response.model or response.model_version
    failed = None
    output = _output(response)
    if output is None and decoded is None and (response.type == "error" or sent(response.error)):
        failed = "error response"
    return Answer(
        output=output,
        usage=usage_of(decoded, response.service_tier),
        model=model if isinstance(model, str) else None,
        response_id=response.id if isinstance(response.id, str) else None,
        created=response.created or response.created_at or response.create_time,
        failed=failed,
    )


def _output(response: _Response) -> bytes | None:
    if response.choices is not UNSET:
        choices = _CHOICES.decode(response.choices) if sent(response.choices) else []
        if not choices:
            return None
        text = choices[0].text
        return sent(choices[0].message) or (text.encode("utf-8", "surrogatepass") if text else None)
    if response.candidates is not UNSET:
        candidates = _CANDIDATES.decode(response.candidates) if sent(response.candidates) else []
        return sent(candidates[0].content) if candidates else None
    output = sent(response.output)
    if output is not None and output[:1] == b"{":
        return sent(_OUTPUT.decode(Raw(output)).message)
    return output or sent(response.content) or sent(response.message) or sent(response.text)


def _size(count: int | None) -> int:
    return abs(count) if count else 0


def _kept(count: int | None) -> int | None:
    return count if _size(count) < LARGEST_COUNT else None
