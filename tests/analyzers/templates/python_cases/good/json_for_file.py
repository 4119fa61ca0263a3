import json

from openai import OpenAI

RULES = "You read meters from photographs and give the number with its unit."


def read(record, question):
    answer = OpenAI().responses.create(model="gpt-5", instructions=RULES, input=question)
    with open("log.jsonl", "a") as file:
        file.write(json.dumps(record) + "\n")
        file.write(json.dumps({"answer": answer.output_text}))
    return answer
