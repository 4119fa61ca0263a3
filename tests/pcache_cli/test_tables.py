"""Tables on terminals of any width: no figure is cut, no line is too long."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from pcache_cli import console as streams
from pcache_cli.reports.tables import FittedTable
from tests.command_line import pcache

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"


def drawn(table: FittedTable, width: int) -> list[str]:
    """The lines of the table on a terminal of this width."""
    file = StringIO()
    Console(file=file, width=width, color_system=None).print(table)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def breakers() -> FittedTable:
    table = FittedTable("Breakers", "rule", "what and where", "requests", "fix brings", text=(0, 1), head=2)
    table.add_row("PC101", "a clock at messages\\[0].content, character 55", "35", "42,836")
    table.add_row("PC210", "the same passages in another order", "21", "34,493")
    return table


def test_a_wide_terminal_shows_one_row_a_line():
    assert drawn(breakers(), 100) == [
        "Breakers",
        "rule   what and where                                requests  fix brings",
        "PC101  a clock at messages[0].content, character 55        35      42,836",
        "PC210  the same passages in another order                  21      34,493",
    ]


def test_text_and_headers_wrap_at_words_where_it_is_narrower():
    assert drawn(breakers(), 46) == [
        "Breakers",
        "                                           fix",
        "rule   what and where        requests   brings",
        "PC101  a clock at                  35   42,836",
        "       messages[0].content,",
        "       character 55",
        "PC210  the same passages in        21   34,493",
        "       another order",
    ]


def test_rows_become_lines_with_the_names_of_the_columns_where_columns_do_not_fit():
    assert drawn(breakers(), 40) == [
        "Breakers",
        "PC101  a clock at messages[0].content,",
        "character 55",
        "  requests: 35 · fix brings: 42,836",
        "PC210  the same passages in another",
        "order",
        "  requests: 21 · fix brings: 34,493",
    ]


def test_a_title_may_be_wider_than_its_table():
    table = FittedTable("Hit ratio by capacity, no expiry", "room", "ratio")
    table.add_row("1k", "36.8 %")
    assert drawn(table, 60) == ["Hit ratio by capacity, no expiry", "room   ratio", "1k    36.8 %"]


def test_a_figure_in_two_units_is_not_parted():
    table = FittedTable("", "block", "knee (99 %)", "flat from", text=())
    table.add_row("512", "187.4k (22.9 GiB)", "199.7k (24.4 GiB)")
    assert drawn(table, 44)[-1] == "  512  187.4k (22.9 GiB)  199.7k (24.4 GiB)"
    assert drawn(table, 40) == [
        "block: 512",
        "  knee (99 %): 187.4k (22.9 GiB)",
        "  flat from: 199.7k (24.4 GiB)",
    ]


def test_a_table_without_names_has_no_header_and_empty_cells_say_nothing():
    table = FittedTable("Reuse", "", "", "", text=(0, 2))
    table.add_row("prompt tokens", "61,539", "")
    table.add_row("request hit ratio", "95.8 %", "of 24 requests")
    assert drawn(table, 60)[0:2] == ["Reuse", "prompt tokens      61,539"]
    assert drawn(table, 20) == [
        "Reuse",
        "prompt tokens",
        "  61,539",
        "request hit ratio",
        "  95.8 %",
        "  of 24 requests",
    ]


def test_a_long_path_is_folded_and_keeps_every_character():
    table = FittedTable("", "place", "tokens")
    table.add_row("messages.content.source.data.of.the.first.image", "1,234,567")
    assert drawn(table, 40) == [
        "place                             tokens",
        "messages.content.source.data.  1,234,567",
        "of.the.first.image",
    ]


figures = st.integers(0, 10**9).map(lambda value: f"{value:,}")
words = st.lists(st.text("abcdefgh", min_size=1, max_size=11), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(words, figures, figures, figures, words), min_size=1, max_size=5),
    width=st.integers(30, 120),
)
def test_no_word_and_no_figure_is_lost_at_any_width(rows, width):
    table = FittedTable("A table", "what", "prompt tokens", "read", "saved", "why", text=(0, 4))
    for row in rows:
        table.add_row(*row)
    lines = drawn(table, width)
    shown = " ".join(lines).split()
    assert all(len(line) <= width for line in lines)
    for row in rows:
        for cell in row:
            assert all(word in shown for word in cell.split())


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "rag_shuffled.jsonl"),
        ("analyze", "coding_agent_markers.jsonl", "--markers"),
        ("cost", "coding_agent_markers.jsonl", "--by", "model,route,breaker"),
        ("simulate", "hash_trace.jsonl", "--model", "llama-3.1-8b"),
        ("simulate", "coding_agent_markers.jsonl", "--provider", "auto"),
        ("simulate", "support_bot_clock.jsonl", "--capacity", "200blocks", "--tier", "cpu=4096blocks"),
    ],
)
def test_reports_cut_nothing_on_a_narrow_terminal(monkeypatch, command, width):
    def narrow() -> Console:
        return Console(file=sys.stdout, width=width, color_system=None, highlight=False)

    monkeypatch.setattr(streams, "stdout_console", narrow)
    name, log, *options = command
    text = pcache(name, SAMPLES / log, *options, "-q").stdout.decode()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
