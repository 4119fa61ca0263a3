"""Encoding must not pull in libraries that it does not use: they cost a short run a second and 60 MB."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENCODE = """
import sys
from analyzers.tokenization import load_tokenizer
assert load_tokenizer("o200k").encode("hello world").tolist() == [24912, 2375]
print(sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


def test_encoding_imports_no_array_library_but_numpy() -> None:
    unwanted = ["awkward", "pyarrow", "pandas", "torch", "transformers"]
    run = subprocess.run(
        [sys.executable, "-c", ENCODE, *unwanted], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


BUILD = """
import sys
import numpy as np
from analyzers.prefix_tree import build_prefix_tree, plain_runs
build_prefix_tree(plain_runs([np.arange(3, dtype=np.uint32)]), np.zeros(1, np.int32))
print(sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


def test_kernels_load_no_extension_of_other_packages() -> None:
    run = subprocess.run(
        [sys.executable, "-c", BUILD, "awkward"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
