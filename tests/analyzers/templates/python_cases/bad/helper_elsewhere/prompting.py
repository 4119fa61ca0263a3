from datetime import datetime

POLICY = """Refunds are paid within thirty days. A refund needs the order number and the reason.
Vouchers are never paid out. Damaged goods are collected free of charge by the carrier."""


def system_text():
    return f"Generated at {datetime.now():%H:%M:%S}\n{POLICY}"
