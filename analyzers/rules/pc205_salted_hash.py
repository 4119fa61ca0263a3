"""Python's `hash()` of a text reaches the prompt.

What: `hash(x)` of a string, bytes or anything that holds them is written into the prompt before fixed text.

Why: Python salts it anew in each process, so the value, and with it everything behind it, differs after each
restart and between replicas.

Bad:
    f"Version {hash(rules)}\n{rules}"

Good:
    f"Version {hashlib.sha256(rules.encode()).hexdigest()[:8]}\n{rules}"

Must not flag: hashes used as keys; digests of hashlib.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

_ADVICE = "Use a digest that is the same in every process, such as hashlib.sha256."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.SALTED_HASH}, _ADVICE)


RULE = Rule.of(__name__, Level.ERROR, template=_template)
