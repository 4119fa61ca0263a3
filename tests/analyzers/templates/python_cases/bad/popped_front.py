# expects: PC501
from openai import OpenAI


class Chat:
    def __init__(self):
        self.client = OpenAI()
        self.messages = [{"role": "system", "content": "You are a patient tutor."}]

    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        while len(self.messages) > 20:
            self.messages.pop(1)
        return self.client.chat.completions.create(model="gpt-5", messages=self.messages)
