"""What batch formats share: what was asked and what was answered are rows of their own, joined on custom_id."""

from collections import defaultdict, deque
from typing import Any

from analyzers.logs.answers import Answer
from analyzers.logs.call import Call
from analyzers.logs.calls import Calls
from analyzers.logs.reader import FAILED_CALL, Reader, Record
from analyzers.request import Dialect, Log, Request

ANSWERS_ALONE = "Some batch answers have no request in the input; they count with their usage alone."


class BatchReader(Reader):
    """Joins the rows; an answer without its request still tells its usage."""

    def __init__(self, log: Log, mapping: Any) -> None:
        super().__init__(log, mapping)
        self._calls = Calls(log)
        self._asked: dict[str, deque[Request]] = defaultdict(deque)
        self._answered: dict[str, deque[tuple[Record, Answer]]] = defaultdict(deque)
        self._failed: set[int] = set()

    def ask(self, record: Record, custom_id: str, call: Call, dialect: Dialect) -> None:
        """Take a row of a batch's input."""
        request = self._calls.request(record, call, dialect)
        self.log.requests.append(request)
        if self._answered[custom_id]:
            self._join(request, *self._answered[custom_id].popleft())
        else:
            self._asked[custom_id].append(request)

    def answer(self, record: Record, custom_id: str, answer: Answer) -> None:
        """Take a row of a batch's output."""
        if self._asked[custom_id]:
            self._join(self._asked[custom_id].popleft(), record, answer)
        else:
            self._answered[custom_id].append((record, answer))

    def end_of_input(self) -> None:
        """Answers that no request asked for, and requests that failed."""
        if self._failed:
            self.log.requests[:] = [r for r in self.log.requests if id(r) not in self._failed]
        for custom_id, left in self._answered.items():
            for record, answer in left:
                if answer.failed:
                    self.log.skip(record.file, record.line, FAILED_CALL, answer.failed)
                    continue
                self.log.note(ANSWERS_ALONE)
                request = Request(custom_id, record.file, record.line, Dialect.TEXT, ())
                self._calls.complete(request, answer)
                self.log.requests.append(request)

    def _join(self, request: Request, record: Record, answer: Answer) -> None:
        self.log.merged += 1
        if answer.failed:
            self._failed.add(id(request))
            self.log.skip(request.file, request.line, FAILED_CALL, answer.failed)
        else:
            self._calls.complete(request, answer)
