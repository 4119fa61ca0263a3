"""The beginning-of-sequence token is, or may be, written twice.

What: a chat template writes `bos_token` itself. A tokenizer that adds its own then gives two. In a log of token
ids: a prompt that starts with the same special token twice.

Why: a prompt with two and a prompt with one share a single token, however equal the text behind is: raw and chat
calls never share a cache.

Bad: `tokenizer(template_output)`, with a template that writes the token.

Good: `tokenizer(template_output, add_special_tokens=False)`.

Must not flag: nothing in a template alone is wrong here, so it is a note about how to tokenize its output.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Fix, Level
from analyzers.rules.chat import probed, where_named
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.templates.parts import Prompt


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    found = probed(prompt)
    if found is not None and found.writes_bos:
        yield RULE.finding(
            "the template writes bos_token itself; a tokenizer that adds its own gives two",
            where_named(prompt, "bos_token"),
            level=Level.INFO,
            subject="bos_token",
            fix=Fix("Tokenize the rendered text with add_special_tokens=False."),
        )


RULE = Rule.of(__name__, Level.WARNING, template=_template)
