"""Tables for people that stay readable on a narrow terminal: columns wrap at words, and where even that does not
fit, every row becomes a few lines. No number is ever cut."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

_GAP = 2
_UNBROKEN_TEXT, _UNBROKEN_FIGURE = 12, 18
"""Cells up to this width stay on one line: names and ids; figures with their unit, or in two units."""
_FOLDED = 24
"""A word longer than this may be broken in a column of text: a path, an id."""


class FittedTable:
    """Rows of cells in rich markup under named columns.

    `text` are the columns of text (left), the others hold figures (right). `head` columns name a row where it is
    written as lines. A column without a name holds cells that speak for themselves; a table without any names has
    no header.
    """

    def __init__(self, title: str, *columns: str, text: Collection[int] = (0,), head: int = 1) -> None:
        self._title, self._columns, self._text, self._head = title, columns, frozenset(text), head
        self._rows: list[tuple[Sequence[str], str]] = []

    def add_row(self, *cells: str, style: str = "") -> None:
        """One row, a cell for each column."""
        self._rows.append((cells, style))

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        if self._title:
            yield Text(self._title, style="table.title")
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._stacked(options.max_width)
        else:
            yield self._table(widths)

    def _table(self, widths: Sequence[int]) -> "Table":
        from rich.table import Table

        table = Table(
            box=None,
            pad_edge=False,
            show_header=any(self._columns),
        )
        for place, (name, width) in enumerate(zip(self._columns, widths, strict=True)):
            side = "left" if place in self._text else "right"
            table.add_column(name, justify=side, width=width, overflow="fold")  # type: ignore[arg-type]
        for cells, style in self._rows:
            table.add_row(*cells, style=style)
        return table

    def _widths(self, room: int) -> list[int] | None:
        """The width of each column in a table of this width, None where the columns do not fit side by side."""
        heads = [_parsed(name) for name in self._columns]
        columns = [[_parsed(cells[n]) for cells, _ in self._rows] for n in range(len(heads))]
        widths, whole, least = [], [], []
        for n, (head, cells) in enumerate(zip(heads, columns, strict=True)):
            is_text = n in self._text
            kept = [_unbroken(text, _UNBROKEN_TEXT if is_text else _UNBROKEN_FIGURE) for text in cells]
            widths.append(max(1, *(text.cell_len for text in (head, *cells))))
            whole.append(max(1, _longest_word(head), *kept))
            folded = min(_longest_word(head), _FOLDED)
            least.append(max(1, folded, *(min(width, _FOLDED if is_text else width) for width in kept)))
        room -= _GAP * (len(widths) - 1)
        if sum(least) > room:
            return None
        return _shrunk(_shrunk(widths, whole, room), least, room)

    def _stacked(self, room: int) -> "Iterator[Padding | Text]":
        """Each row as a line of what names it and, below, its other cells, each with the name of its column."""
        from rich.padding import Padding
        from rich.text import Text

        for cells, style in self._rows:
            heads, parts = [], []
            for place, (name, cell) in enumerate(zip(self._columns, cells, strict=True)):
                value = _parsed(cell).plain
                named = f"{name}: {value}" if name else value
                if value and place < self._head:
                    heads.append(value if place in self._text else named)
                elif value:
                    parts.append(named)
            yield Text("  ".join(heads), style=style)
            for line in _filled(parts, room - _GAP):
                yield Padding(Text(line, style=style), (0, 0, 0, _GAP), expand=False)


def _parsed(markup: str) -> "Text":
    from rich.text import Text

    return Text.from_markup(markup)


def _longest_word(text: "Text") -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.plain.split()), default=0)


def _unbroken(text: "Text", short: int) -> int:
    """The width at which nothing that belongs together is parted: a short cell, the words of a longer one."""
    return text.cell_len if text.cell_len <= short else _longest_word(text)


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths with the widest taken back, to no less than `least`, until they fit or nothing can be taken."""
    found = list(widths)
    while sum(found) > room:
        spare = [width - low for width, low in zip(found, least, strict=True)]
        if max(spare) <= 0:
            break
        found[spare.index(max(spare))] -= 1
    return found


def _filled(parts: Sequence[str], room: int) -> list[str]:
    """The parts on as few lines as hold them, none broken."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= room:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines
