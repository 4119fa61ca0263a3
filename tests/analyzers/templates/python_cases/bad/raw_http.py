# expects: PC101
import time

import httpx


def complete(question):
    payload = {
        "model": "local-70b",
        "messages": [
            {
                "role": "system",
                "content": "t={}\n{}".format(
                    time.time_ns(), "You write tests for the code you are given. " * 12
                ),
            },
            {"role": "user", "content": question},
        ],
    }
    return httpx.post("http://localhost:8000/v1/chat/completions", json=payload, timeout=60)
