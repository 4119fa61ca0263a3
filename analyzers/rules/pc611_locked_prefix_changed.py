"""The fixed beginning of a prompt differs from its committed lock.

What: `pcache lint --lock` compares what stands before the first varying part of each template with the lock file
and finds a change that is not at its end.

Why: every cached entry of the prompt is useless behind the change: after the release each live session and each
shared prefix is written anew, once. That is often worth it; the finding makes it a decision and says its price.

Bad: a word changed in line 3 of a 6,000-token system prompt, with the lock left as it was.

Good: the same change with the lock updated (`--update-lock`) and reviewed; or the new rule added at the end.

Must not flag: text added behind the fixed beginning; a template that is new.
"""

from analyzers.findings import Level
from analyzers.rules.registry import Rule

RULE = Rule.of(__name__, Level.WARNING)
