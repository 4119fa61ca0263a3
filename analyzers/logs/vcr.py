"""VCR cassettes (vcrpy, pytest-recording, Ruby's vcr), in YAML or JSON."""

import base64
from typing import Any

import msgspec

from analyzers.logs.calls import Calls
from analyzers.logs.exchanges import Exchange, take_exchanges
from analyzers.logs.identity import headers_of
from analyzers.logs.reader import Carries, Reader, Record
from analyzers.logs.tables import BINARY_KEY
from analyzers.request import Log


class VCR(Reader):
    """Of a cassette's interactions the model calls; the time is the response's `date` header.

    Bodies that the recorder stored parsed have lost their white space and escapes, not their key order.
    """

    name = "vcr"
    title = "VCR cassettes"
    carries = Carries(text="yes", tools="yes", usage="yes", times="answer, to the second")
    keys = ("interactions", "version", "recorded_with", "http_interactions")
    reach = "record"

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)

    @staticmethod
    def matches(record: Any) -> float:
        """As `Reader.matches`."""
        return 1.0 if isinstance(_interactions(record), list) else 0.0

    def read(self, record: Record) -> None:
        """Read one cassette."""
        interactions = _interactions(msgspec.json.decode(record.raw))
        take_exchanges(self._calls, self.log, record, interactions, _exchange)


def _interactions(record: Any) -> Any:
    if not isinstance(record, dict):
        return None
    return record.get("interactions", record.get("http_interactions"))


def _exchange(interaction: Any) -> Exchange:
    request, response = interaction["request"], interaction["response"]
    status = response.get("status")
    code = status.get("code") if isinstance(status, dict) else response.get("status_code")
    return Exchange(
        method=str(request.get("method") or "GET"),
        url=str(request.get("uri") or request.get("url") or ""),
        request_body=_body(request),
        response_body=_body(response),
        status=code if isinstance(code, int) else None,
        request_headers=headers_of(msgspec.json.encode(request.get("headers") or {})),
        response_headers=headers_of(msgspec.json.encode(response.get("headers") or {})),
        started=interaction.get("recorded_at"),
    )


def _body(message: Any) -> bytes:
    if message.get("parsed_body") is not None:
        return msgspec.json.encode(message["parsed_body"])
    body = message.get("body", message.get("content"))
    if isinstance(body, dict) and not (BINARY_KEY in body or "string" in body or "base64_string" in body):
        return msgspec.json.encode(body)
    if isinstance(body, dict):
        if isinstance(body.get("base64_string"), str):
            return base64.b64decode(body["base64_string"])
        body = body.get("string", body)
    if isinstance(body, dict):
        body = body.get(BINARY_KEY)
        return base64.b64decode(body) if isinstance(body, str) else b""
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else b""
