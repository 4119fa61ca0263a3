"""The documentation site builds without a warning and without the network, and its generated pages are current."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import cli_reference  # noqa: E402
import definitions_page  # noqa: E402

needs_mkdocs = pytest.mark.skipif(find_spec("material") is None, reason="mkdocs-material is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr, run.stderr
    return folder


@needs_mkdocs
def test_every_page_is_built(site: Path) -> None:
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages == {path.parent.name for path in site.glob("*/index.html")}


@needs_mkdocs
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]*\ssrc=["']?https?:|<link[^>]*rel=["']?(?:stylesheet|preconnect)[^>]*href=["']?https?:"""
    )
    assert [path for path in site.rglob("*.html") if loaded.search(path.read_text(encoding="utf-8"))] == []


@needs_mkdocs
def test_schemas_are_published_and_programs_are_not(site: Path) -> None:
    assert (site / "schemas" / "analyze.schema.json").is_file()
    assert list(site.rglob("*.py")) == []


@pytest.mark.parametrize("program", [cli_reference, definitions_page])
def test_a_generated_page_is_current(program) -> None:
    assert program.DOCUMENT.read_text(encoding="utf-8") == program.page(), (
        f"run python docs/{program.__name__}.py"
    )


def test_every_dictionary_of_definitions_is_on_the_page() -> None:
    with_definitions = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("analyzers", "simulators", "pcache_cli", "gpu_probe")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^DEFINITIONS\b.*= ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert with_definitions == {module for module, _, _ in definitions_page.SECTIONS}


@pytest.mark.parametrize("page", ["extending.md", "proofs.md", "json.md"])
def test_the_files_that_a_page_names_exist(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:python )?((?:analyzers|simulators|pcache_cli|tests|docs)/[\w/.]*)`", text))
    named = {name for name in named if "NNN" not in name}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def _example(page: str, language: str) -> str:
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S
    )
    return found


def test_the_reader_of_the_extending_page_reads(tmp_path: Path) -> None:
    from analyzers.logs.reading import read

    log_file = tmp_path / "log.jsonl"
    log_file.write_text('{"asked": "What is the time?", "by": "ann", "at": 1791190000}\n{"other": 1}\n')
    names: dict[str, object] = {}
    exec(_example("extending.md", "python"), names)
    log = read([str(log_file)], [names["Asked"]])
    assert [(r.identity.user, r.parts[0].raw) for r in log.requests] == [("ann", b"What is the time?")]
    assert log.records == 2


def test_the_provider_of_the_extending_page_is_one(tmp_path: Path) -> None:
    from simulators.providers.rules import load_rule_book

    rules_file = tmp_path / "example.yaml"
    rules_file.write_text(_example("extending.md", "yaml"))
    assert load_rule_book([rules_file]).named("example", None).minimum_tokens == 1024
