"""The page as bytes: what is in it, what must never be."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcache_cli.app import app
from tests.file_size_limit import files_of_at_most

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Page(HTMLParser):
    """Elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.blocks: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data):
        if self._inside:
            self.blocks[self._inside] = self.blocks.get(self._inside, "") + data
        else:
            self.text += data

    def attributes(self, name: str) -> list[str]:
        return [a[name] for _, a in self.elements if a.get(name) is not None]


def write_report(tmp_path: Path, *words: object, code: int = 0) -> str:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", *map(str, words), "-o", str(out), "-q"])
    assert result.exit_code == code, result.output
    return out.read_text(encoding="utf-8") if out.exists() else result.output


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> str:
    return write_report(tmp_path_factory.mktemp("clock"), SAMPLES / "support_bot_clock.jsonl")


def hostile_log(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.jsonl"
    rows = [
        {
            "id": f"{ATTACK}{n}",
            "timestamp": f"2026-10-05T09:00:{n:02}Z",
            "request": {
                "model": ATTACK,
                "user": ATTACK,
                "messages": [
                    {"role": "system", "content": f"{n}:12 SECRETWORD rules. " + "Be kind and brief. " * 60}
                ],
            },
        }
        for n in range(10, 16)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_page_opens_with_the_money_and_the_ceiling(clock):
    text = Page(clock).text
    assert (
        text.index("36 requests cost $0.1171") < text.index("16 % of the prompt tokens") < text.index("PC101")
    )
    for figure in ("Still to save", "$0.01353", "16.3 %", "42,836"):
        assert figure in text


def test_bill_below_what_a_cold_cache_can_make_of_it_leaves_nothing_to_save(tmp_path):
    log = tmp_path / "warm.jsonl"
    usage = {"prompt_tokens": 2000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 1920}}
    messages = [{"role": "user", "content": "word " * 1990}]
    row = {"id": "r", "provider": "openai", "request": {"model": "gpt-4.1", "messages": messages}}
    log.write_text(json.dumps(row | {"response": {"usage": usage}}) + "\n")
    text = Page(write_report(tmp_path, log)).text
    assert re.search(r"Still to save\s*nothing", text)


def test_page_asks_nothing_of_the_network(clock):
    page = Page(clock)
    links = page.attributes("href") + page.attributes("src")
    assert all(link.startswith("#") or link == "data:," for link in links), links
    assert "@import" not in clock
    assert "url(" not in clock


def test_only_the_pages_own_script_and_style_may_run(clock):
    page = Page(clock)
    policy = next(a["content"] for t, a in page.elements if t == "meta" and a.get("http-equiv"))
    for block in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.blocks[block].encode()).digest()).decode()
        assert f"{block}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not page.attributes("style")
    assert "innerHTML" not in page.blocks["script"]


def test_text_of_the_log_cannot_become_markup(tmp_path):
    page = Page(write_report(tmp_path, hostile_log(tmp_path), "--show-text", "--title", ATTACK))
    assert [a.get("type") for t, a in page.elements if t == "script"] == ["application/json", None]
    assert "img" not in {t for t, _ in page.elements}
    assert not [name for _, a in page.elements for name in a if name.startswith("on")]
    assert ATTACK in page.text
    assert "<" not in page.blocks["tree-data"]
    assert json.loads(page.blocks["tree-data"])["first"][0].startswith(ATTACK)


def test_text_of_prompts_is_there_only_when_asked_for(tmp_path):
    log = tmp_path / "quoted.jsonl"
    rows = [
        {
            "timestamp": f"2026-10-05T09:00:{n:02}Z",
            "request": {
                "model": "gpt-4.1",
                "messages": [
                    {"role": "system", "content": f"Ticket QX-{n * 7919}-ZW. " + "Be kind and brief. " * 90},
                    {"role": "user", "content": "Hello."},
                ],
            },
        }
        for n in range(10, 22)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert not re.search(r"QX|kind and brief|Hello\.", write_report(tmp_path, log))
    shown = Page(write_report(tmp_path, log, "--show-text")).text
    assert "QX-" in shown or str(11 * 7919) in shown


def test_same_log_gives_the_same_bytes(tmp_path, clock):
    assert write_report(tmp_path, SAMPLES / "support_bot_clock.jsonl") == clock


def test_tables_charts_and_parts_are_labelled(clock):
    page = Page(clock)
    ids = set(page.attributes("id"))
    assert all(target in ids for target in page.attributes("aria-labelledby"))
    assert all(link[1:] in ids for link in page.attributes("href") if link.startswith("#"))
    tags = [t for t, _ in page.elements]
    assert tags.count("caption") == tags.count("table")
    assert {"header", "nav", "main", "footer", "h1"} <= set(tags)
    assert all(a.get("scope") for t, a in page.elements if t == "th")
    drawings = [a for t, a in page.elements if t == "svg"]
    assert all(a.get("aria-label") or a.get("aria-hidden") == "true" for a in drawings)


@pytest.mark.parametrize("name", ["coding_agent_markers", "healthy_agent", "rag_shuffled"])
def test_every_sample_has_its_tree_and_its_curves(tmp_path, name):
    page = Page(write_report(tmp_path, SAMPLES / f"{name}.jsonl"))
    tree = json.loads(page.blocks["tree-data"])
    assert len({len(tree[column]) for column in ("parent", "start", "end", "requests", "first")}) == 1
    assert {"chart-timeline", "chart-lifetime"} <= set(page.attributes("id"))


def test_trace_or_hashes_say_what_they_cannot_tell(tmp_path):
    text = Page(write_report(tmp_path, SAMPLES / "hash_trace.jsonl")).text
    assert "Money is unknown: no request has a known price" in text
    assert "83.2 %" in text


def test_log_without_prompts_still_shows_its_bill(tmp_path):
    log = tmp_path / "usage.jsonl"
    usage = {"prompt_tokens": 2000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 1000}}
    log.write_text(json.dumps({"id": "r", "provider": "openai", "model": "gpt-4.1", "usage": usage}) + "\n")
    text = Page(write_report(tmp_path, log)).text
    assert "1 request cost $" in text
    assert "Not simulated: the log holds no prompts" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ttl", "1m,5m"], "names several lifetimes"),
        (["--title", "x", "--ttl", "soon"], "not a duration"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, words, says):
    assert says in write_report(tmp_path, SAMPLES / "support_bot_clock.jsonl", *words, code=2)


def test_output_that_is_no_page_is_refused_before_reading(tmp_path):
    result = CliRunner().invoke(
        app, ["report", str(SAMPLES / "rag_shuffled.jsonl"), "-o", str(tmp_path / "r.pdf")]
    )
    assert result.exit_code == 2
    assert "must end in .html or .htm" in result.output


def test_page_for_which_the_disk_has_no_room_is_an_error(tmp_path):
    with files_of_at_most(10_000):
        done = CliRunner().invoke(
            app, ["report", str(SAMPLES / "hash_trace.jsonl"), "-o", str(tmp_path / "r.html")]
        )
    assert done.exit_code == 2
    assert "r.html: File too large" in " ".join(done.stderr.split())
