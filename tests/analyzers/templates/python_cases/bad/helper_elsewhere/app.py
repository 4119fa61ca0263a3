# expects: PC101
import litellm
from prompting import system_text


def support(question):
    return litellm.completion(
        model="gpt-5",
        messages=[{"role": "system", "content": system_text()}, {"role": "user", "content": question}],
    )
