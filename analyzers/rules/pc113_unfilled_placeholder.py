"""A placeholder was sent to the model as it stands.

What: the tools or the system prompt of a request hold `{{ name }}` or `${name}`: the template was not rendered, or
a name was not filled in.

Why: the model reads the placeholder instead of the value; and the day it is filled in, the cached prefix breaks.

Bad: `"system": "You help {{ company }}."`

Good: `"system": "You help Fernhill Parts."`

Must not flag: placeholders in code, in quotation marks or in an example; single braces, which JSON has too.
"""

import re
from collections.abc import Iterator

from analyzers.findings import Evidence, Finding, Fix, Level, Location
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt, Text

_PLACEHOLDER = re.compile(r"\{\{\s*[A-Za-z_][\w.]*\s*\}\}|\$\{[A-Za-z_][\w.]*\}")
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`|\"[^\"\n]{0,200}\"", re.S)


def _request(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    for part in prompt.parts:
        if not isinstance(part, Text) or part.place.section != "system" or "{" not in part.text:
            continue
        quoted = [match.span() for match in _QUOTED.finditer(part.text)]
        found = [
            match
            for match in _PLACEHOLDER.finditer(part.text)
            if not any(start <= match.start() < end for start, end in quoted)
        ]
        if found:
            yield RULE.finding(
                f"{part.place.path} holds a placeholder that was not filled in (character {found[0].start()}"
                + (f", {len(found)} in all)" if len(found) > 1 else ")"),
                Location(
                    part.span.path,
                    part.span.line,
                    part.span.column,
                    json_path=part.place.path,
                    char_offset=found[0].start(),
                ),
                subject=part.place.path or "",
                evidence=Evidence(request_id=prompt.name or None, excerpt=found[0][0]),
                fix=Fix("Render the template before it is sent."),
            )


RULE = Rule.of(__name__, Level.WARNING, request=_request)
