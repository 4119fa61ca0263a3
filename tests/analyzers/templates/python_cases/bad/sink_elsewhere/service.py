# expects: PC103
import secrets

from .gateway import ask_model

MANUAL = "You explain washing machines. Name the part, the fault code and the repair, in this order. " * 4


def explain(question):
    return ask_model(f"nonce={secrets.token_hex(8)}\n{MANUAL}", question)
