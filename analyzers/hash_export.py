"""A Trace as a hash trace: per request the ids of its prompt's blocks, in the form the Mooncake traces have.

Ids are numbers in order of first appearance, so they say which prompts share a prefix and nothing else. A salt
replaces them by 63-bit numbers, so that two exports of one trace cannot be laid side by side.
"""

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from analyzers.errors import InputError, UsageError
from analyzers.trace import MISSING, NO_TIME, Int64, Trace
from analyzers.whole_file import whole_file


def block_ids(trace: Trace, block_size: int) -> list[Int64]:
    """Per request the ids of its prompt's blocks (int64), a last partial block included.

    Two prompts share an id exactly when they agree in every token up to the end of that block. Raises UsageError
    for a size that is not positive or, with a hash trace, no multiple of its block length.
    """
    if block_size < 1 or block_size % trace.info.unit:
        wanted = f"a multiple of {trace.info.unit}" if trace.info.unit > 1 else "at least 1"
        raise UsageError(f"--block-size {block_size} must be {wanted}")
    tree, table = trace.tree, trace.requests
    starts = tree.depth_start.astype(np.int64) // block_size
    inside = tree.depth_end.astype(np.int64) // block_size - starts
    first_id = np.concatenate([np.zeros(1, np.int64), np.cumsum(inside)])
    partial_id = first_id[-1] + np.arange(len(tree), dtype=np.int64)
    appearance: dict[int, int] = {}
    result = []
    for leaf, length in zip(table.leaf.tolist(), table.prompt_tokens.tolist(), strict=True):
        path: list[int] = []
        node = leaf
        while node >= 0:
            path.append(node)
            node = int(tree.parent[node])
        ids = [i for n in reversed(path) for i in range(first_id[n], first_id[n + 1])][: length // block_size]
        if length % block_size:
            ids.append(int(partial_id[leaf]))
        result.append(np.array([appearance.setdefault(i, len(appearance)) for i in ids], np.int64))
    return result


def write_hash_trace(trace: Trace, path: Path, block_size: int, salt: str | None = None) -> None:
    """Write one JSON line a request: timestamp (ms since the first), input_length, output_length, hash_ids.

    What the trace does not know is null. The file is written whole or not at all. Raises InputError where it cannot be
    written, and what `block_ids` raises.
    """
    table = trace.requests
    known = table.time_ns != NO_TIME
    begin = int(table.time_ns[known].min()) if known.any() else 0
    salted: dict[int, int] = {}

    def hidden(number: int) -> int:
        if number not in salted:
            digest = hashlib.blake2b(number.to_bytes(8, "little"), key=str(salt).encode()[:64], digest_size=8)
            salted[number] = int.from_bytes(digest.digest(), "little") >> 1
        return salted[number]

    try:
        with whole_file(path) as file:
            for request, ids in enumerate(block_ids(trace, block_size)):
                output = int(table.output_tokens[request])
                row = {
                    "timestamp": (int(table.time_ns[request]) - begin) // 1_000_000
                    if known[request]
                    else None,
                    "input_length": int(table.prompt_tokens[request]),
                    "output_length": None if output == MISSING else output,
                    "hash_ids": ids.tolist() if salt is None else [hidden(i) for i in ids.tolist()],
                }
                file.write(msgspec.json.encode(row) + b"\n")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from problem
