"""A conversation written down once, as the calls that made it: each answer is one, its prompt all before it."""

from collections.abc import Sequence

from analyzers.logs.reader import Record
from analyzers.request import Dialect, Identity, Log, Part, PartKind, Request


class Conversation:
    """The messages so far. Every message is made a part once, however many prompts repeat it."""

    def __init__(
        self,
        log: Log,
        record: Record,
        name: str,
        dialect: Dialect = Dialect.OPENAI_CHAT,
        lead: Sequence[Part] = (),
        model: str | None = None,
        identity: Identity | None = None,
    ) -> None:
        """`lead` are the parts before the first message (schema, tools, system); `name` begins request ids."""
        self._message = log.parts.interner(dialect, PartKind.MESSAGE)
        self._response = log.parts.interner(dialect, PartKind.RESPONSE)
        self._parts = list(lead)
        self._log = log
        self._record = record
        self._name = name
        self._dialect = dialect
        self._model = model
        self._identity = identity or Identity(session=name)
        self.calls = 0

    def add(self, raw: bytes) -> None:
        """A message that is no answer to a call."""
        self._parts.append(self._message(raw))

    def answer(self, raw: bytes, *, model: str | None = None) -> Request:
        """Log the call that this message answers; the message then joins the conversation."""
        request = Request(
            request_id=f"{self._name}/{self.calls + 1}",
            file=self._record.file,
            line=self._record.line,
            dialect=self._dialect,
            parts=tuple(self._parts),
            model=model or self._model,
            identity=self._identity,
            output=self._response(raw),
        )
        self._parts.append(self._message(raw))
        self.calls += 1
        self._log.requests.append(request)
        return request
