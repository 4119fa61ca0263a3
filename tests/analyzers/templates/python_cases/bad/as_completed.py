# expects: PC204
from concurrent.futures import ThreadPoolExecutor, as_completed

from openai import OpenAI

RULES = (
    "Write a summary of the reports above: first what they agree on, then where they differ, then what is missing. "
    * 3
)


def ask(urls, fetch):
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(fetch, url) for url in urls]
        reports = [job.result() for job in as_completed(jobs)]
    prompt = "\n".join(reports) + "\n" + RULES
    return OpenAI().responses.create(model="gpt-5", input=prompt)
