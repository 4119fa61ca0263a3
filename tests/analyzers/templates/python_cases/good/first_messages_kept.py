from openai import OpenAI

SYSTEM = {"role": "system", "content": "You are a patient tutor."}


def turn(history, text):
    kept = history[1:]
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[SYSTEM, *kept, {"role": "user", "content": text}]
    )
