"""An image is encoded anew for every request.

What: code opens, resizes or compresses a picture and puts the result into the messages each time it builds them.

Why: an encoder gives other bytes with another version, another thread count or a time stamp in the header. The
picture is part of the cached prefix by its content: other bytes, no hit, for it and all behind it.

Bad: `image.save(buffer, "JPEG")` inside the function that builds the request.

Good: encode once, keep the bytes (or a URL), send the same ones.

Must not flag: a file's bytes read and encoded as base64 as they are.
"""

from collections.abc import Iterator

from analyzers.findings import Finding, Level
from analyzers.rules.context import CheckContext
from analyzers.rules.registry import Rule
from analyzers.rules.stranded import stranded_findings
from analyzers.templates.parts import Cause, Prompt

_ADVICE = "Encode the image once and send the same bytes each time."


def _template(prompt: Prompt, context: CheckContext) -> Iterator[Finding]:
    return stranded_findings(RULE, context, {Cause.IMAGE_REENCODED}, _ADVICE)


RULE = Rule.of(__name__, Level.WARNING, template=_template)
