"""Jinja's sandbox with the globals that Hugging Face chat templates expect.

As transformers 5 renders them (read November 2026): blocks trimmed, `break` and `continue` known, the
`generation` tag, `tojson` that keeps key order and non-ASCII text, `raise_exception`, `strftime_now`.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class _Generation(Extension):
    """`{% generation %}` marks what the assistant wrote, for training; it renders as what it encloses."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compile_template(source: str, clock: Callable[[], datetime]) -> Template:
    """A chat template ready to render; `clock` says what time `strftime_now` tells.

    Raises jinja2.TemplateSyntaxError.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: clock().strftime(form)
    return environment.from_string(source)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
