"""The report as one HTML file: no network, no script but its own, every text of the log escaped.

The page is a template with escaping on; its style and script stand inline, allowed by their hash alone in the
page's content security policy. The prefix tree travels as JSON in a data block and is drawn by the script; all else
is in the page as it is, so that it prints, and reads without a script.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pcache_cli import __version__
from pcache_cli.reports.html.charts import HEIGHT, LEFT, capacity_chart, lifetime_chart, timeline_chart
from pcache_cli.reports.html.tables import (
    action_lines,
    breaker_rows,
    class_bar,
    definition_groups,
    group_tables,
    hot_rows,
    money_cards,
    reading_lines,
    reuse_cards,
    verdicts,
)

if TYPE_CHECKING:
    from analyzers.prefix_map import PrefixMap
    from analyzers.trace import Trace
    from pcache_cli.log_report import LogReport


def render_report(report: "LogReport", title: str, show_text: bool = False) -> str:
    """The page. Quotes from prompts are in it only with `show_text`."""
    from jinja2 import Environment, PackageLoader

    page = Environment(loader=PackageLoader("pcache_cli.reports", "html"), autoescape=True, trim_blocks=True)
    page.lstrip_blocks = True
    style, script = _asset("report.css"), _asset("report.js")
    charts = {
        "timeline": None if report.timeline is None else timeline_chart(report.timeline),
        "capacity": None if report.sweep is None else capacity_chart(report.sweep),
        "lifetime": None if report.sweep is None else lifetime_chart(report.sweep),
    }
    return page.get_template("report.html.j2").render(
        title=title,
        version=__version__,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        frame={"height": HEIGHT, "left": LEFT},
        verdicts=verdicts(report),
        cards=(money_cards(report), reuse_cards(report)),
        class_bar=class_bar(report),
        actions=action_lines(report),
        breakers=breaker_rows(report, show_text),
        study=report.study,
        tree=report.tree,
        tree_json=None if report.tree is None else _data_block(_tree_value(report.tree, report.trace)),
        charts=charts,
        run=report.run,
        hottest=hot_rows(report),
        groups=group_tables(report),
        definitions=definition_groups(report),
        reading=reading_lines(report),
        missing=report.missing,
        show_text=show_text,
    )


def _asset(name: str) -> str:
    return files("pcache_cli.reports.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data_block(value: Any) -> Markup:
    """JSON that cannot end the element it stands in, whatever its strings hold."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _tree_value(tree: "PrefixMap", trace: "Trace") -> dict[str, Any]:
    paths = sorted({p for p in tree.path.tolist() if p >= 0})
    place = {p: k for k, p in enumerate(paths)}
    return {
        "parent": tree.parent.tolist(),
        "start": tree.start.tolist(),
        "end": tree.end.tolist(),
        "requests": tree.requests.tolist(),
        "reusable": tree.reusable_tokens.tolist(),
        "hidden": tree.hidden_tokens.tolist(),
        "path": [place.get(p, -1) for p in tree.path.tolist()],
        "paths": [trace.paths[p] for p in paths],
        "first": [trace.requests.request_id[row] for row in tree.first.tolist()],
        "namespace": tree.namespace.tolist(),
        "namespaces": list(trace.info.namespaces),
    }
