"""What the rules about chat templates share: the probe of a template, and places in it."""

from analyzers.findings import Location
from analyzers.rules.stranded import place
from analyzers.templates.chat_probe import ChatProbe, probe
from analyzers.templates.parts import Prompt, Value


def probed(prompt: Prompt) -> ChatProbe | None:
    """What the template does to a growing conversation; None for prompts that are no chat template."""
    return probe(prompt.template) if prompt.template else None


def where_named(prompt: Prompt, name: str) -> Location:
    """The first part or condition that reads the name; the start of the file where none does."""
    for part in prompt.parts:
        for guard in part.guards:
            if any(read == name or read.startswith(f"{name}.") for read in guard.names):
                return place(guard.span)
        if isinstance(part, Value) and any(read.partition(".")[0] == name for read in part.names):
            return place(part.span)
    return Location(prompt.path, 1, 1)
