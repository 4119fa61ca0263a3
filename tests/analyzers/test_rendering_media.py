"""Images, files and audio count by digest, and their tokens are estimates that are told apart from counts."""

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from analyzers.rendering import RenderedPart, make_rendering
from analyzers.renderings.media import Media, image_size, opaque_tokens
from analyzers.request import Dialect, PartKind, PartStore, Request
from analyzers.tokenization import load_tokenizer


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + b"\0" * 40
    )


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 302) + b"\0" * 300
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 12
    return b"\xff\xd8" + exif + frame + b"\0" * 40


def webp(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\0\0\0\0WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + size + b"\0" * 40


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 60


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def message(dialect: Dialect, value: Any) -> RenderedPart:
    part = PartStore().intern(dialect, PartKind.MESSAGE, json.dumps(value).encode())
    return make_rendering(None, None).render(Request("1", "log", 1, dialect, (part,)))[0]


def placeholders(part: RenderedPart) -> list[tuple[str, int]]:
    return [
        (s.text.split(":")[0], s.repeat) for s in part.segments if s.special and not s.text.startswith("<|")
    ]


@pytest.mark.parametrize("made", [png, jpeg, webp, gif])
def test_the_head_of_an_image_tells_its_size(made: Any) -> None:
    assert image_size(made(1024, 768)) == (1024, 768)
    assert image_size(made(1024, 768)[:9]) is None


def test_no_size_is_read_from_what_is_no_image() -> None:
    assert image_size(b"") is None
    assert image_size(b"\xff\xd8" + b"\0" * 50) is None


@pytest.mark.parametrize(
    ("dialect", "size", "detail", "tokens"),
    [
        (Dialect.ANTHROPIC, (1000, 1000), "", 1333),  # 1,000 x 1,000 / 750
        (Dialect.ANTHROPIC, (200, 200), "", 53),
        (Dialect.ANTHROPIC, (4000, 3000), "", 1600),  # scaled to 1,568 px, then the cap
        (Dialect.BEDROCK, (1000, 1000), "", 1333),
        (Dialect.OPENAI_CHAT, (1024, 1024), "high", 765),  # 768 x 768: 4 tiles
        (Dialect.OPENAI_CHAT, (2048, 4096), "high", 1105),  # 768 x 1,536: 6 tiles
        (Dialect.OPENAI_CHAT, (4096, 8192), "low", 85),
        (Dialect.OPENAI_RESPONSES, (512, 512), "auto", 255),
        (Dialect.GEMINI, (300, 300), "", 258),
        (Dialect.GEMINI, (1000, 700), "", 516),
    ],
)
def test_an_image_counts_by_the_providers_rule(
    dialect: Dialect, size: tuple[int, int], detail: str, tokens: int
) -> None:
    assert Media("image", encoded(png(*size)), "image/png", detail).estimated_tokens(dialect) == tokens


def test_what_cannot_be_measured_gets_a_fixed_estimate() -> None:
    assert Media("image", "https://host.example/x.png").estimated_tokens(Dialect.OPENAI_CHAT) == 765
    assert Media("image", "https://host.example/x.png").estimated_tokens(Dialect.ANTHROPIC) == 1600
    assert Media("file", "file-123").estimated_tokens(Dialect.OPENAI_CHAT) == 2000
    pages = b"%PDF-1.7 " + b"<< /Type /Page >> " * 3 + b"<< /Type /Pages >>"
    assert Media("file", encoded(pages)).estimated_tokens(Dialect.ANTHROPIC) == 6000
    assert Media("file", encoded(pages)).estimated_tokens(Dialect.GEMINI) == 774
    second = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + struct.pack("<II", 8000, 16000) + b"\0" * 15968
    assert Media("audio", encoded(second)).estimated_tokens(Dialect.OPENAI_CHAT) == 10
    assert Media("audio", encoded(second)).estimated_tokens(Dialect.GEMINI) == 32
    assert Media("video", "https://host.example/v.mp4").estimated_tokens(Dialect.GEMINI) == 2630
    assert opaque_tokens("A" * 1600) == 300


_PICTURE = encoded(png(200, 200))


@pytest.mark.parametrize(
    ("dialect", "value", "expected"),
    [
        (
            Dialect.OPENAI_CHAT,
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}}],
            },
            [("image", 85)],
        ),
        (
            Dialect.OPENAI_CHAT,
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PICTURE}"}},
                    {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD"}},
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {"type": "document_url", "document_url": "data:application/pdf;base64,QUJD"},
                    {"type": "input_audio", "input_audio": "QUJD"},
                    {"type": "image", "source": {"type": "url", "url": "https://x/y"}},
                ],
            },
            [("image", 255), ("audio", 100), *[("file", 2000)] * 3, ("audio", 100), ("image", 765)],
        ),
        (
            Dialect.OPENAI_RESPONSES,
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": "https://x/y", "detail": "low"},
                    {"type": "input_file", "file_id": "file-1"},
                ],
            },
            [("image", 85), ("file", 2000)],
        ),
        (
            Dialect.OPENAI_RESPONSES,
            {"type": "reasoning", "summary": [], "encrypted_content": "A" * 1600},
            [("encrypted", 300)],
        ),
        (
            Dialect.ANTHROPIC,
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": _PICTURE},
                    },
                    {"type": "thinking", "thinking": "x", "signature": "c2ln" * 100},
                    {"type": "redacted_thinking", "data": "A" * 160},
                    {"type": "text", "text": "x"},
                ],
            },
            [("image", 53), ("signature", 1), ("redacted", 30)],
        ),
        (
            Dialect.GEMINI,
            {
                "role": "user",
                "parts": [
                    {"inline_data": {"mime_type": "image/png", "data": _PICTURE}},
                    {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x/v"}},
                    {"text": "x", "thoughtSignature": "c2ln"},
                ],
            },
            [("image", 258), ("video", 2630), ("signature", 1)],
        ),
        (
            Dialect.BEDROCK,
            {
                "role": "user",
                "content": [
                    {"image": {"format": "png", "source": {"bytes": _PICTURE}}},
                    {
                        "document": {
                            "name": "d",
                            "format": "pdf",
                            "source": {"s3Location": {"uri": "s3://b/k"}},
                        }
                    },
                    {"reasoningContent": {"redactedContent": "A" * 160}},
                ],
            },
            [("image", 53), ("file", 2000), ("redacted", 30)],
        ),
    ],
)
def test_media_of_every_dialect_count_by_estimate(
    dialect: Dialect, value: Any, expected: list[tuple[str, int]]
) -> None:
    part = message(dialect, value)
    assert placeholders(part) == expected
    assert part.estimated_tokens == sum(tokens for _, tokens in expected)


def picture(data: bytes, detail: str = "auto") -> RenderedPart:
    url = {"url": f"data:image/png;base64,{encoded(data)}", "detail": detail}
    return message(
        Dialect.OPENAI_CHAT, {"role": "user", "content": [{"type": "image_url", "image_url": url}]}
    )


def test_different_images_differ_from_their_first_token_and_equal_ones_do_not() -> None:
    tokenizer = load_tokenizer("o200k")

    def ids(part: RenderedPart) -> list[int]:
        return tokenizer.encode_segments(part.segments)[0].tolist()

    one, same, other = picture(png(64, 64) + b"1"), picture(png(64, 64) + b"1"), picture(png(64, 64) + b"2")
    assert ids(one) == ids(same)
    assert ids(one)[3] != ids(other)[3]
    assert set(ids(one)).isdisjoint(tokenizer.encode(one.segments[3].text).tolist())
    assert ids(one)[3] != ids(picture(png(64, 64) + b"1", "high"))[3]


def test_estimates_are_told() -> None:
    rendering = make_rendering(None, None)
    value = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y"}}]}
    part = PartStore().intern(Dialect.OPENAI_CHAT, PartKind.MESSAGE, json.dumps(value).encode())
    assert rendering.account.notes() == []
    rendering.render(Request("1", "log", 1, Dialect.OPENAI_CHAT, (part,)))
    (note,) = rendering.account.notes()
    assert "765 tokens by estimate" in note
