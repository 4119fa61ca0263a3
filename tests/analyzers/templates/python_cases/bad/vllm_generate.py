# expects: PC103
import uuid

from vllm import LLM, SamplingParams

llm = LLM(model="some/model")
INSTRUCTIONS = "Extract the names of people and places from the text and write them as two lists. " * 4


def extract(texts):
    prompts = [f"<{uuid.uuid4().hex}>\n{INSTRUCTIONS}\n{text}" for text in texts]
    return llm.generate(prompts, SamplingParams(temperature=0))
