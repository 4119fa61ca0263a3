# expects: PC211
import base64
import io

import anthropic
from PIL import Image

TASK = (
    "Describe the picture for the catalogue: what it shows, the colours, the material, the state it is in. "
    * 3
)


def describe(path, question):
    buffer = io.BytesIO()
    image = Image.open(path)
    image.save(buffer, "JPEG")
    data = base64.b64encode(buffer.getvalue()).decode()
    content = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": data}},
        {"type": "text", "text": TASK},
        {"type": "text", "text": question},
    ]
    return anthropic.Anthropic().messages.create(
        model="claude-sonnet-4-5", max_tokens=100, messages=[{"role": "user", "content": content}]
    )
