# expects: PC202
import json

from openai import OpenAI

RULES = (
    "Answer from the catalogue alone. Give the number of the article and the price. Offer an accessory if one is listed. "
    * 3
)


def ask(catalogue, question):
    system = "Catalogue: " + json.dumps(catalogue) + "\n" + RULES
    return OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": system}, {"role": "user", "content": question}]
    )
