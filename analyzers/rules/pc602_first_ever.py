"""Nothing like it was sent before.

What: no earlier request of the log shares content with this one, so there was nothing to read.

Why: the first request of its kind pays in full. It is no mistake, and is said so that nobody looks for one.

Bad: a cold start taken for a miss.

Good: where the first answer must be fast, a warm-up request that writes the prefix beforehand.

Must not flag: a request whose content stood in an earlier one behind another prefix.
"""

from analyzers.findings import Level
from analyzers.rules.registry import Rule

RULE = Rule.of(__name__, Level.INFO)
