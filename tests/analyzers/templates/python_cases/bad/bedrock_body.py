# expects: PC103
import json
import random

import boto3

bedrock = boto3.client("bedrock-runtime")


def answer(question):
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 300,
        "system": "Run %d. " % random.randint(0, 10**9)
        + "You describe pictures for people who cannot see them, calmly and in order. " * 6,
        "messages": [{"role": "user", "content": question}],
    }
    return bedrock.invoke_model(modelId="anthropic.claude-3-haiku", body=json.dumps(body))
