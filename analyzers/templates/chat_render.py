"""Rendering chat templates safely: a worker process that is given up when a template takes too long."""

import atexit
import json
import os
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

_PATIENCE_S = 5.0


class ChatRenderer:
    """Renders templates one after the other in one worker, started at first use and again after a failure."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._worker: subprocess.Popen[str] | None = None
        self._patience_s = patience_s

    def render(self, template: str, variables: list[dict[str, Any]]) -> list[str | None]:
        """The text for each set of variables; None where the template refuses it, or takes too long."""
        worker = self._started()
        if worker.stdin is None or worker.stdout is None:
            return [None] * len(variables)
        timer = threading.Timer(self._patience_s, worker.kill)
        timer.start()
        try:
            worker.stdin.write(json.dumps({"template": template, "variables": variables}) + "\n")
            worker.stdin.flush()
            answer = worker.stdout.readline()
            results: list[str | None] = json.loads(answer) if answer else []
        except (OSError, ValueError):
            results = []
        finally:
            timer.cancel()
        if len(results) == len(variables):
            return results
        self.close()
        return [None] * len(variables)

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()

    def _started(self) -> "subprocess.Popen[str]":
        if self._worker is None or self._worker.poll() is not None:
            root = str(Path(__file__).resolve().parents[2])
            paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
            self._worker = subprocess.Popen(
                [sys.executable, "-m", "analyzers.templates.chat_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": paths},
            )
        return self._worker


_RENDERER = ChatRenderer()
atexit.register(_RENDERER.close)


@lru_cache(maxsize=256)
def rendered(template: str, variables: str) -> tuple[str | None, ...]:
    """The renderings for sets of variables given as JSON; each template and set is rendered once a run."""
    return tuple(_RENDERER.render(template, json.loads(variables)))
