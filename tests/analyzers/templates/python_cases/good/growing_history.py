import anthropic

RULES = "You play a game of questions. The player thinks of a thing, and you find it with at most twenty questions."


class Game:
    def __init__(self):
        self.client = anthropic.Anthropic()
        self.messages = []

    def turn(self, text):
        self.messages.append({"role": "user", "content": text.strip()})
        answer = self.client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=100,
            cache_control={"type": "ephemeral"},
            system=RULES,
            messages=self.messages,
        )
        self.messages.append({"role": "assistant", "content": answer.content})
        return answer
