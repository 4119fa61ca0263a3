"""A comment silences a rule that finds nothing there.

What: `pcache: ignore[PC101]` on a line (or `ignore-file` in a file) where PC101 finds nothing, or a comment that
starts with `pcache:` and says nothing that is understood.

Why: it will hide the next finding there, which nobody has judged; or it is a slip that hides nothing.

Bad:
    {{ company_name }} {# pcache: ignore[PC101] #}

Good:
    {{ now() }} {# pcache: ignore[PC101] #}

Must not flag: comments that silence something.
"""

from analyzers.findings import Level
from analyzers.rules.registry import Rule

RULE = Rule.of(__name__, Level.WARNING)
