"""Cache objects that a request names (Gemini's cachedContents): the request reads all of the object.

The object's text is not in the request. Its length is what an earlier request read from it, else the part of
the logged prompt that the body does not hold. It is created by a call of its own and kept by the hour; what that
costs is a matter of storage, not of the request.
"""

from simulators.providers.prompts import Prompt
from simulators.providers.served import Served, Why


class ObjectReads:
    """The lengths of the objects met so far, by name."""

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}

    def serve(self, prompt: Prompt, name: str) -> Served:
        """What a request that names this object reads."""
        known = self._tokens.get(name)
        if prompt.logged_read:
            self._tokens[name] = prompt.logged_read
        if known is not None:
            return Served(known, {}, Why.NOTHING_MORE, True)
        hidden = 0 if prompt.logged_prompt is None else max(prompt.logged_prompt - prompt.tokens, 0)
        return Served(hidden, {}, Why.NOTHING_MORE)
