# expects: PC101
import datetime as dt

from openai import OpenAI

llm = OpenAI()
GUIDE = (
    "You check invoices. Compare the sum with the order, the tax with the country, and the bank account with the list. "
    * 3
)


def check(invoice_text):
    msgs = []
    msgs.append({"role": "system", "content": f"Now: {dt.datetime.utcnow().isoformat()}\n" + GUIDE})
    msgs.append({"role": "user", "content": invoice_text})
    return llm.chat.completions.create(model="gpt-5-mini", messages=msgs)
