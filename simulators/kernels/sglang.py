"""SGLang's radix cache: nodes of whole pages, split by matches and inserts, evicted whole and leaf first.

A page id stands for the whole prefix up to the page's end, so a page that is cached says in which node. Nodes lie
in one ring in the order of their last walk, and within a walk the deepest first: a child therefore always stands
before its parent, so the front of the ring is always a leaf, and popping the front is what a heap over the leaves'
access times would do.
"""

import numpy as np

from analyzers.compiled import njit
from simulators.kernels.paths import write_blocks

START, END, PARENT, AFTER, BEFORE, LOCKED_BY, ALIVE = range(7)
ROOT = 0  # stands for the root, and for both ends of the ring


@njit(cache=True)
def _unlink(nodes, n):  # type: ignore[no-untyped-def]
    nodes[nodes[n, BEFORE], AFTER] = nodes[n, AFTER]
    nodes[nodes[n, AFTER], BEFORE] = nodes[n, BEFORE]


@njit(cache=True)
def _to_back(nodes, n):  # type: ignore[no-untyped-def]
    last = nodes[ROOT, BEFORE]
    nodes[last, AFTER] = n
    nodes[n, BEFORE] = last
    nodes[n, AFTER] = ROOT
    nodes[ROOT, BEFORE] = n


@njit(cache=True)
def _new_node(nodes, count, start, end, parent):  # type: ignore[no-untyped-def]
    nodes[count, START] = start
    nodes[count, END] = end
    nodes[count, PARENT] = parent
    nodes[count, LOCKED_BY] = -1
    nodes[count, ALIVE] = 1
    nodes[count, AFTER] = count
    nodes[count, BEFORE] = count
    return count


@njit(cache=True)
def _walk(nodes, count, node_of, ids, limit, path):  # type: ignore[no-untyped-def]
    """Match at most `limit` pages from the root; a match that ends inside a node splits it.

    Returns the number of nodes so far, the matched pages, the depth of the path written to `path`, and the lower
    part of a node that was split (or ROOT).
    """
    depth, steps, lower = 0, 0, ROOT
    while depth < limit:
        n = node_of[ids[depth]]
        if n < 0 or not nodes[n, ALIVE]:
            break
        reach = min(nodes[n, END], limit)
        if node_of[ids[reach - 1]] != n:
            low, high = depth + 1, reach - 1  # the page at `depth` lies in n, the one before `reach` does not
            while low < high:
                middle = (low + high + 1) // 2
                if node_of[ids[middle - 1]] == n:
                    low = middle
                else:
                    high = middle - 1
            reach = low
        if reach < nodes[n, END]:
            upper = _new_node(nodes, count, depth, reach, nodes[n, PARENT])
            count += 1
            nodes[n, START] = reach
            nodes[n, PARENT] = upper
            for k in range(depth, reach):
                node_of[ids[k]] = upper
            lower, n = n, upper
        path[steps] = n
        steps += 1
        depth = reach
        if lower != ROOT:
            break
    return count, depth, steps, lower


@njit(cache=True)
def _stamp(nodes, path, steps, lower):  # type: ignore[no-untyped-def]
    """Move what a walk touched to the back: the split-off part, then the path from its end to the root."""
    if lower != ROOT:
        _unlink(nodes, lower)
        _to_back(nodes, lower)
    for s in range(steps - 1, -1, -1):
        _unlink(nodes, path[s])
        _to_back(nodes, path[s])


@njit(cache=True)
def _insert(nodes, count, node_of, ids, pages, unnamed, path):  # type: ignore[no-untyped-def]
    """Insert a sequence of `pages` known pages and `unnamed` ones that nothing can match.

    Returns the number of nodes so far, the pages that were there already, and the depth of the path.
    """
    count, matched, steps, lower = _walk(nodes, count, node_of, ids, pages, path)
    if pages + unnamed > matched:
        leaf = _new_node(nodes, count, matched, pages + unnamed, path[steps - 1] if steps else ROOT)
        count += 1
        for k in range(matched, pages):
            node_of[ids[k]] = leaf
        path[steps] = leaf
        steps += 1
    _stamp(nodes, path, steps, lower)
    return count, matched, steps


@njit(cache=True)
def _evict(nodes, wanted, request):  # type: ignore[no-untyped-def]
    """Pop whole leaves until `wanted` pages are freed or only the running request's path is left."""
    freed = 0
    while freed < wanted:
        n = nodes[ROOT, AFTER]
        if n == ROOT or nodes[n, LOCKED_BY] == request:
            break
        _unlink(nodes, n)
        nodes[n, ALIVE] = 0
        freed += nodes[n, END] - nodes[n, START]
    return freed


@njit(cache=True)
def _shortfall(free, need, size):  # type: ignore[no-untyped-def]
    """Pages to evict when `need` tokens are asked for and `free` pages are at hand."""
    return max(0, -(-(need - free * size) // size))


@njit(cache=True)
def replay_sglang(  # type: ignore[no-untyped-def]
    leaf,
    parent,
    depth_start,
    depth_end,
    first_id,
    ids,
    size,
    prompt_tokens,
    total_tokens,
    most_hits,
    capacity,
):
    """Serve the requests one at a time from `capacity` pages of `size` tokens.

    Returns hit pages per request (int64). Needs capacity >= ceil(total_tokens / size) for every request.
    """
    requests = len(leaf)
    most = 0
    for r in range(requests):
        most = max(most, -(-total_tokens[r] // size))
    nodes = np.zeros((5 * requests + 1, 7), np.int32)  # at most five new nodes a request
    count = 1
    node_of = np.full(ids, -1, np.int32)
    pages = np.empty(most + 1, np.int64)
    path = np.empty(most + 2, np.int32)
    hits = np.zeros(requests, np.int64)
    free = capacity
    spare = size if size > 1 else 0  # what SGLang asks for beyond the need when pages hold several tokens
    for r in range(requests):
        known = write_blocks(leaf[r], parent, depth_start, depth_end, size, first_id, pages)
        prompt_pages = min(prompt_tokens[r] // size, known)
        count, hit, steps, lower = _walk(nodes, count, node_of, pages, min(known, most_hits[r]), path)
        _stamp(nodes, path, steps, lower)
        for s in range(steps):
            nodes[path[s], LOCKED_BY] = r
        hits[r] = hit

        need = prompt_tokens[r] - hit * size + spare
        free += _evict(nodes, _shortfall(free, need, size), r)
        free -= -(-prompt_tokens[r] // size) - hit

        in_tree = hit
        if total_tokens[r] > prompt_tokens[r]:
            # The prompt enters the tree after its prefill, before the outputs are decoded.
            count, matched, steps = _insert(nodes, count, node_of, pages, prompt_pages, 0, path)
            free += max(0, matched - hit)
            in_tree = prompt_pages
            for s in range(steps):
                nodes[path[s], LOCKED_BY] = r
            for position in range(prompt_tokens[r], total_tokens[r]):
                if free < 1:
                    free += _evict(nodes, 1, r)
                if position % size == 0:
                    free -= 1

        whole = total_tokens[r] // size
        count, matched, steps = _insert(nodes, count, node_of, pages, known, whole - known, path)
        free += max(0, matched - in_tree)
        if total_tokens[r] % size:
            free += 1
    return hits
