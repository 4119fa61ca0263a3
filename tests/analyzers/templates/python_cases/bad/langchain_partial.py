# expects: PC101
import time

from langchain_core.prompts import PromptTemplate

template = PromptTemplate(
    template="Time {now}\nSummarise the minutes of a meeting: decisions first, then open points with the name of "
    "who takes care of them, then the date of the next meeting.\n{minutes}",
    input_variables=["minutes"],
    partial_variables={"now": lambda: time.strftime("%H:%M")},
)


def build(minutes):
    return template.format(minutes=minutes)
