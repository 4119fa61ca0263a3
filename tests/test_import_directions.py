"""Imports point one way, so that a part can be read and used without those above it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("pcache_cli", "analyzers", "simulators", "gpu_probe")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "pcache_cli": OURS,
    "analyzers": ("analyzers",),
    "simulators": (
        "simulators",
        "analyzers.compiled",
        "analyzers.errors",
        "analyzers.request",
        "analyzers.trace",
        "analyzers.usage",
    ),
    "gpu_probe": ("gpu_probe", "simulators.latency", "simulators.calibration", "analyzers.errors"),
}
HEAVY = ("torch", "transformers", "numba", "matplotlib", "pandas")


def imported(path: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("package", OURS)
def test_a_package_imports_only_what_stands_below_it(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        for name in imported(path):
            if name.split(".")[0] in OURS:
                allowed = any(name == a or name.startswith(a + ".") for a in MAY_IMPORT[package])
                assert allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "pcache_cli" / "commands").glob("*.py")), ids=lambda p: p.stem
)
def test_a_command_imports_only_what_its_options_need_before_it_runs(path: Path) -> None:
    for name in imported(path, top_level_only=True):
        top = name.split(".")[0]
        assert top not in HEAVY
        assert top not in ("analyzers", "simulators", "gpu_probe") or name.startswith("analyzers.errors")
