"""The files that commands in the documents speak of without bringing them: small stand-ins of the right kind."""

import csv
import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from tests.analyzers.tokenizer_builder import byte_level
from tests.simulators.sample_calibration import sample_calibration

ROOT = Path(__file__).resolve().parents[1]
_CHAT_TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
_MANIFEST = """\
tenant: acme
authorization_scope: [support]
model: {weights: "sha256:1", tokenizer: "sha256:2", chat_template: "sha256:3", adapter: null, rope: null}
kv_format: {dtype: fp8_e4m3, block_size: 16}
documents: null
policy: 2026-10
"""


def lay_out(folder: Path) -> None:
    """Write the stand-ins into an empty folder, beside links to what the repository brings."""
    for name in ("sample_logs", "docs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "logs").mkdir()
    for name in ("log.jsonl", "logs.jsonl", "before.jsonl", "after.jsonl", "logs/one.jsonl", "prompts.jsonl"):
        (folder / name).write_text(_some_calls())
    shutil.copytree(ROOT / "docs" / "examples", folder / "prompts")
    _write_calls(folder / "calls.csv")
    _write_model(folder / "model")
    (folder / "manifest.yaml").write_text(_MANIFEST)
    event = {"time": "2026-10-05T09:20:00Z", "kind": "privacy", "session": "work-00"}
    (folder / "events.jsonl").write_text(json.dumps(event) + "\n")
    (folder / "calibration.json").write_bytes(msgspec.json.encode(sample_calibration()))
    (folder / "before.prom").write_text(_scrape(1_000, 500))
    (folder / "after.prom").write_text(_scrape(59_087, 53_108))


def _some_calls() -> str:
    """A dozen calls of the coding agent, each with its first token a second after its start."""
    lines = []
    for line in (
        (ROOT / "sample_logs" / "coding_agent_markers.jsonl").read_text(encoding="utf-8").splitlines()[:12]
    ):
        call = json.loads(line)
        start = datetime.fromisoformat(call["timestamp"])
        lines.append(json.dumps(call | {"first_token_at": (start + timedelta(seconds=1)).isoformat()}))
    return "".join(f"{line}\n" for line in lines)


def _write_calls(file: Path) -> None:
    with file.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["input", "ts", "model"])
        for second in range(3):
            rows.writerow([f"You are a helper. Question {second}", f"2026-10-05T09:00:0{second}Z", "gpt-4.1"])


def _write_model(folder: Path) -> None:
    folder.mkdir()
    byte_level(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": _CHAT_TEMPLATE}))


def _scrape(queries: int, hits: int) -> str:
    return (
        'vllm:cache_config_info{block_size="16",num_gpu_blocks="4000",enable_prefix_caching="True"} 1.0\n'
        f'vllm:prefix_cache_queries_total{{engine="0"}} {queries}\n'
        f'vllm:prefix_cache_hits_total{{engine="0"}} {hits}\n'
    )
