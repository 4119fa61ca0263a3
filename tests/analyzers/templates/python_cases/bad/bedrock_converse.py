# expects: PC105
import os

import boto3

runtime = boto3.client("bedrock-runtime")
TEXT = (
    "You answer questions of shop assistants about the till: returns, vouchers, closing, errors of the printer. "
    * 3
)


def answer(question):
    return runtime.converse(
        modelId="anthropic.claude-sonnet-4-5",
        system=[{"text": f"Folder {os.getcwd()}"}, {"text": TEXT}],
        messages=[{"role": "user", "content": [{"text": question}]}],
    )
