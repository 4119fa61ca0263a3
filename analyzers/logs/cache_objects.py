"""Engine logs of one cache object a call: `{call, cache_object, prefix_tokens, cache_len_before, new_tokens,
cache_len_after}`.

They hold lengths and no prompts. Every field stays a label of its request, so that a rule can tell a cache that grew
in place from one that was copied.
"""

from typing import Any

import msgspec

from analyzers.logs.answers import usage_of
from analyzers.logs.reader import Carries, Reader, Record
from analyzers.request import Dialect, Identity, Request

NO_PROMPTS = "Logs of cache objects hold lengths and no prompts; only their figures are read."


class _Row(msgspec.Struct):
    cache_object: str | int
    prefix_tokens: int
    cache_len_before: int
    new_tokens: int = 0


_ROW = msgspec.json.Decoder(_Row)
_FIELDS = msgspec.json.Decoder(dict[str, Any])


class CacheObjects(Reader):
    name = "cache-objects"
    title = "Cache objects of an engine"
    carries = Carries(text="no", tools="no", usage="lengths", times="no")
    keys = ("call", "cache_object", "prefix_tokens", "cache_len_before", "new_tokens", "cache_len_after")
    reach = "record"

    @staticmethod
    def matches(record: Any) -> float:
        return float(isinstance(record, dict) and {"cache_object", "cache_len_before"} <= record.keys())

    def read(self, record: Record) -> None:
        row = _ROW.decode(record.raw)
        fields = _FIELDS.decode(record.raw)
        labels = tuple((name, str(value)) for name, value in sorted(fields.items()) if value is not None)
        self.log.requests.append(
            Request(
                request_id=str(fields.get("call", f"{record.file}:{record.line}")),
                file=record.file,
                line=record.line,
                dialect=Dialect.TOKENS,
                parts=(),
                identity=Identity(labels=labels),
                usage=usage_of({"prompt_tokens": row.prefix_tokens + row.new_tokens}),
            )
        )
        self.log.note(NO_PROMPTS)
