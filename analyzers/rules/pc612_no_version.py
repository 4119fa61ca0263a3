"""A template carries no version.

What: neither the head of the file (`version:`) nor a comment names a version of the template.

Why: a change of the template invalidates every cached prefix that starts with it. With a version in the
template and in the logs, a drop of the hit rate can be put down to the release that caused it.

Bad:
    {{ rules }}

Good:
    {# version: 2026-11-03 #}
    {{ rules }}

Must not flag: included files; request bodies; text without any placeholder. Checked only where it is selected by
its id (`--select PC612`), as it is a matter of house style.
"""

import re
from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level, Location
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Source, Value

_VERSION = re.compile(r"\bversion\b\W{0,3}[\w.-]*\d|\bv\d+(\.\d+)*\b", re.I)


def _source(source: Source) -> Iterator[Finding]:
    prompts = [prompt for prompt in source.prompts if prompt.kind != "request"]
    if not any(isinstance(part, Value) for prompt in prompts for part in prompt.parts):
        return
    in_comment = any(_VERSION.search(comment.text) for comment in source.comments)
    if not in_comment and not any(prompt.version for prompt in prompts):
        yield RULE.finding(
            "the template names no version",
            Location(source.path, 1, 1),
            subject="version",
            fix=Fix("Name a version in a comment that is not sent, and log it with each request."),
        )


RULE = Rule.of(__name__, Level.INFO, source=_source, by_request=True)
