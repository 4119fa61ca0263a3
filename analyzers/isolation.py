"""What requests could have reused if they shared a cache with other namespaces, and which field keeps them apart."""

from dataclasses import dataclass

import numpy as np

from analyzers.namespaces import field_values
from analyzers.pipeline import TracedLog
from analyzers.prefix_tree import build_prefix_tree
from analyzers.trace import Int64


@dataclass(frozen=True)
class Isolation:
    """`tokens` (int64 a request): beyond the prefix seen in its own namespace, what the earliest request of any
    namespace with the longest common prefix has too. `by_field`: those tokens by the fields in which the two differ.
    """

    tokens: Int64
    by_field: dict[str, int]


def isolated_tokens(traced: TracedLog, seen: Int64) -> Isolation:
    """Compare the prompts across namespaces. `seen` (int64) is each prompt's seen prefix in its own namespace."""
    from analyzers import kernels

    info, requests = traced.trace.info, traced.trace.requests
    merged = build_prefix_tree(traced.sequences, np.zeros(len(requests), np.int32))
    first = kernels.first_prompt_of_nodes(merged.tree.parent, merged.leaf)
    depth, source = kernels.reused_depth(merged.tree.parent, merged.tree.depth_end, first, merged.leaf)
    shared = np.minimum(depth * info.unit, requests.prompt_tokens)
    tokens = np.maximum(shared - seen, 0)
    by_field: dict[str, int] = {}
    codes = {name: field_values(traced.log.requests, name).codes for name in info.namespace_fields}
    for request in np.flatnonzero(tokens).tolist():
        other = source[request]
        key = " + ".join(name for name, code in codes.items() if code[request] != code[other])
        by_field[key] = by_field.get(key, 0) + int(tokens[request])
    return Isolation(tokens, dict(sorted(by_field.items(), key=lambda item: (-item[1], item[0]))))
