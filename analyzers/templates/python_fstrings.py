"""Where the pieces of an f-string stand in the source: Python before 3.12 gives them no places of their own."""

import re

_OPENS = re.compile(r"([rRbBuUfF]{0,2})('''|\"\"\"|'|\")")
_MOST = 200_000


def field_places(source: str) -> list[tuple[int, int]]:
    """The [start, end) of each `{…}` in the source of an f-string, or of literals that stand side by side."""
    places: list[tuple[int, int]] = []
    at = 0
    while len(source) <= _MOST:
        match = _OPENS.search(source, at)
        if match is None:
            break
        at = _literal(source, match, places)
    return places


def _literal(source: str, opening: re.Match[str], places: list[tuple[int, int]]) -> int:
    """Where the literal that opens here ends; its fields are added to the places."""
    prefix, quote = opening[1].lower(), opening[2]
    at, size = opening.end(), len(source)
    while at < size:
        if source.startswith(quote, at):
            return at + len(quote)
        char = source[at]
        if char == "\\" and "r" not in prefix:
            # A name such as \N{BULLET} is no field.
            named = source.startswith("\\N{", at)
            at = source.find("}", at) + 1 if named and "}" in source[at:] else at + 2
        elif char == "\\" or ("f" in prefix and source.startswith(("{{", "}}"), at)):
            at += 2
        elif "f" in prefix and char == "{":
            end = _field_end(source, at)
            places.append((at, end))
            at = end
        else:
            at += 1
    return size


def _field_end(source: str, start: int) -> int:
    depth, at = 0, start
    while at < len(source):
        char = source[at]
        if char in "'\"":
            quote = source[at : at + 3] if source[at : at + 3] in ("'''", '"""') else char
            close = source.find(quote, at + len(quote))
            at = close + len(quote) if close >= 0 else len(source)
            continue
        depth += (char in "{[(") - (char in "}])")
        at += 1
        if depth == 0:
            return at
    return len(source)
