"""Images, files, audio and opaque data: a placeholder by digest, as many tokens long as the data is estimated at.

Every figure here is an estimate and counted as one. The formulas are those of the providers' vision, document and
audio guides as commonly quoted in 2025 and 2026; they were not checked against a dated copy. Anthropic vision: width x height / 750, long edge at most 1,568 px; PDF pages 1,500 to 3,000 tokens of text and image.
OpenAI images (gpt-4o family): 85, plus 170 for each 512 px tile of the image fitted into 2,048 px with the short
side at 768 px; low detail 85. Gemini: 258 for an image up to 384 px or a 768 px tile, 258 a PDF page, 32 a second
of audio, 263 a second of video. OpenAI audio: 10 a second.
"""

import base64
import binascii
import hashlib
import math
import re
import struct
from dataclasses import dataclass

from analyzers.request import Dialect

_UNKNOWN_IMAGE = {Dialect.ANTHROPIC: 1_600, Dialect.BEDROCK: 1_600, Dialect.GEMINI: 258}
_UNKNOWN_IMAGE_OPENAI = 765
_PAGE = {Dialect.GEMINI: 258}
_PAGE_OTHERS = 2_000
_AUDIO_PER_SECOND = {Dialect.GEMINI: 32}
_AUDIO_PER_SECOND_OTHERS = 10
_VIDEO_PER_SECOND = 263
_ASSUMED_SECONDS = 10.0
_ASSUMED_AUDIO_RATE = 16_000
_ASSUMED_VIDEO_RATE = 250_000
_BYTES_PER_OPAQUE_TOKEN = 4
_HEADER_CHARACTERS = 400_000

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?,", re.IGNORECASE)
_PAGES = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


@dataclass(frozen=True)
class Media:
    """Data that is not text. `source` is base64 or a URL or an id, as sent; `mime` may be empty."""

    kind: str
    """image, audio, video or file."""
    source: str
    mime: str = ""
    detail: str = ""

    def name(self) -> str:
        """What the placeholder is known by: kind, the first 128 bits of the SHA-256 of the source, detail."""
        digest = hashlib.sha256(self.source.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return f"{self.kind}:{digest}" + (f":{self.detail}" if self.detail else "")

    def estimated_tokens(self, dialect: Dialect) -> int:
        """How many tokens it stands for, at least 1."""
        data = _decoded(self.source)
        match self.kind:
            case "image":
                return _image_tokens(dialect, data, self.detail)
            case "audio":
                return _audio_tokens(dialect, data)
            case "video":
                seconds = len(self.source) * 0.75 / _ASSUMED_VIDEO_RATE if data else _ASSUMED_SECONDS
                return max(1, math.ceil(seconds * _VIDEO_PER_SECOND))
        pages = max(1, len(_PAGES.findall(data)))
        return pages * _PAGE.get(dialect, _PAGE_OTHERS)


def kind_of(mime: str) -> str:
    """image, audio, video or file, by media type."""
    kind = mime.split("/", 1)[0].lower()
    return kind if kind in ("image", "audio", "video") else "file"


def from_url(kind: str, url: str, detail: str = "") -> Media:
    """Media given by a URL: data in it counts as data."""
    match = _DATA_URL.match(url)
    return Media(kind, url[match.end() :], match[1], detail) if match else Media(kind, url, "", detail)


def opaque_tokens(data: str) -> int:
    """Estimate for encrypted or redacted data in base64: a token for four of its bytes, at least 1."""
    return max(1, len(data) * 3 // 4 // _BYTES_PER_OPAQUE_TOKEN)


def opaque_name(kind: str, data: str) -> str:
    """What a placeholder of opaque data is known by."""
    return f"{kind}:{hashlib.sha256(data.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _decoded(source: str) -> bytes:
    """The data behind base64 (all of it for files, whose pages are counted), empty for a URL or an id."""
    if "://" in source[:16] or len(source) < 64:
        return b""
    try:
        return base64.b64decode(source.encode("ascii", "replace"), validate=False)
    except (binascii.Error, ValueError):
        return b""


def _image_tokens(dialect: Dialect, data: bytes, detail: str) -> int:
    size = image_size(data[:_HEADER_CHARACTERS])
    if dialect is Dialect.GEMINI:
        if size is None or max(size) <= 384:
            return 258
        return 258 * math.ceil(size[0] / 768) * math.ceil(size[1] / 768)
    if dialect in (Dialect.ANTHROPIC, Dialect.BEDROCK):
        if size is None:
            return _UNKNOWN_IMAGE[dialect]
        scale = min(1.0, 1_568 / max(size))
        return max(1, min(1_600, round(size[0] * scale * size[1] * scale / 750)))
    if detail == "low":
        return 85
    if size is None:
        return _UNKNOWN_IMAGE_OPENAI
    scale = min(1.0, 2_048 / max(size))
    width, height = size[0] * scale, size[1] * scale
    scale = min(1.0, 768 / min(width, height))
    return 85 + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


def _audio_tokens(dialect: Dialect, data: bytes) -> int:
    rate = _ASSUMED_AUDIO_RATE
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE" and len(data) >= 32:
        rate = struct.unpack("<I", data[28:32])[0] or rate
    seconds = len(data) / rate if data else _ASSUMED_SECONDS
    return max(1, math.ceil(seconds * _AUDIO_PER_SECOND.get(dialect, _AUDIO_PER_SECOND_OTHERS)))


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG, None where its head does not tell."""
    size: tuple[int, int] | None = None
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        size = struct.unpack(">II", data[16:24])
    elif data[:4] == b"GIF8" and len(data) >= 10:
        size = struct.unpack("<HH", data[6:10])
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        size = _webp_size(data)
    elif data[:2] == b"\xff\xd8":
        size = _jpeg_size(data)
    return size if size and min(size) > 0 else None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None
