# expects: PC101
import time
from dataclasses import dataclass, field

import anthropic

BASICS = (
    "You are the voice of a weather station in the mountains. Speak slowly, in short sentences, without numbers. "
    * 3
)


@dataclass
class PromptBuilder:
    sections: list = field(default_factory=list)

    def add(self, text):
        self.sections.append(text)
        return self

    def build(self):
        return "\n\n".join(self.sections)


def speak(measurements):
    builder = PromptBuilder(sections=[])
    builder.add(f"Time: {time.strftime('%H:%M')}")
    builder.add(BASICS)
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5",
        max_tokens=100,
        system=builder.build(),
        messages=[{"role": "user", "content": measurements}],
    )
