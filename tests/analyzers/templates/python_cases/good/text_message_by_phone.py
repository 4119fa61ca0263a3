import uuid
from datetime import datetime

from twilio.rest import Client

client = Client()


def notify(number):
    body = f"{datetime.now()} Your code is {uuid.uuid4()}. It is valid for ten minutes and for one use only."
    return client.messages.create(body=body, from_="+15550001", to=number)
