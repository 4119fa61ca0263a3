"""What may not be served any more is not, and a deletion says where it had to go."""

from pathlib import Path

import pytest

from analyzers.errors import InputError, UsageError
from simulators.concurrency import Concurrency
from simulators.invalidation import Invalidation, Reach, read_invalidations
from simulators.lifecycle import Loss
from simulators.replay import ReplayResult, replay
from simulators.replay_settings import ReplaySettings
from simulators.replicas import Replicas
from simulators.tiers import Tier
from tests.trace_builder import trace_from_tokens

SECOND = 10**9
A, B = [1, 2, 3], [4, 5, 6]


def after(*events: Invalidation, prompts: list[list[int]], **more: object) -> ReplayResult:
    """One request a second, tenants a and b in turn, model m."""
    trace = trace_from_tokens(
        prompts,
        times=list(range(len(prompts))),
        tenants=["a", "b"] * (len(prompts) // 2) + ["a"] * (len(prompts) % 2),
        models=["m"] * len(prompts),
    )
    return replay(trace, ReplaySettings(1, invalidations=events, **more))  # type: ignore[arg-type]


def test_entries_of_an_old_model_are_not_served_and_new_ones_are() -> None:
    event = Invalidation(2 * SECOND, "model", (("model", "m"),))
    result = after(event, prompts=[A, A, A, A])
    assert result.hit_tokens.tolist() == [0, 2, 0, 2]
    assert result.lost(Loss.INVALIDATED).tolist() == [0, 0, 2, 0]
    assert result.counters.invalidated == 3


def test_only_what_the_selected_requests_used_is_lost() -> None:
    event = Invalidation(2 * SECOND, "permission", (("tenant", "a"),))
    result = after(event, prompts=[A, B, A, B])
    assert result.hit_tokens.tolist() == [0, 0, 0, 2]
    (report,) = result.invalidations
    assert (report.requests, report.blocks) == (1, 3)


def test_a_document_takes_what_hangs_on_it_but_not_what_stands_before_it() -> None:
    # The document begins at token 2 of request 1; request 2 goes on from it, request 3 only shares the start.
    prompts = [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [1, 2, 8, 9], [1, 2, 3, 4, 5, 6], [1, 2, 8, 9]]
    event = Invalidation(3 * SECOND, "document", request="r1", from_token=2)
    result = after(event, prompts=prompts)
    assert result.hit_tokens.tolist() == [0, 4, 2, 2, 3]
    assert result.lost(Loss.INVALIDATED).tolist() == [0, 0, 0, 3, 0]


def test_a_block_that_holds_the_first_token_of_the_document_is_lost() -> None:
    trace = trace_from_tokens([[1, 2, 3, 4, 5]] * 2, times=[0, 2])
    event = Invalidation(SECOND, "document", request="r1", from_token=3)
    result = replay(trace, ReplaySettings(2, invalidations=(event,)))
    assert result.hit_tokens.tolist() == [0, 2]


def test_a_deletion_reports_every_tier_of_every_replica_it_reached() -> None:
    event = Invalidation(4 * SECOND, "privacy", (("tenant", "a"),))
    # Replica 0: A is pushed down to the CPU by B and from there, in part, to the shared tier.
    trace = trace_from_tokens([A, B, A], times=[0, 1, 5], tenants=["a", "b", "a"])
    tiers = (Tier("cpu", 2), Tier("remote", 5, shared=True))
    settings = ReplaySettings(1, 3, tiers=tiers, invalidations=(event,))
    result = replay(trace, settings)
    (report,) = result.invalidations
    assert report.reached == (Reach("cpu", None, 2), Reach("remote", None, 1))
    assert report.blocks == 3
    assert result.hit_tokens.tolist() == [0, 0, 0]
    assert result.lost(Loss.INVALIDATED).tolist() == [0, 0, 2]


def test_a_deletion_reaches_every_replica() -> None:
    event = Invalidation(3 * SECOND, "privacy", (("model", "m"),))
    result = after(event, prompts=[A, A, A, A], replicas=Replicas(2, "round-robin"))
    (report,) = result.invalidations
    assert report.reached == (Reach("gpu", 0, 3), Reach("gpu", 1, 3))
    assert result.hit_tokens.tolist() == [0, 0, 2, 0]


def test_what_is_being_built_never_becomes_readable() -> None:
    event = Invalidation(round(0.5 * SECOND), "privacy", (("tenant", "a"),))
    result = after(event, prompts=[A, A, A], concurrency=Concurrency("prefill", 3.0))
    assert result.counters.cancelled_builds == 3
    # The second request computes it anew at second 1 and is done at second 2.
    assert result.hit_tokens.tolist() == [0, 0, 2]
    assert result.lost(Loss.INVALIDATED).tolist() == [0, 2, 0]


def test_an_event_after_the_last_request_is_still_reported() -> None:
    event = Invalidation(99 * SECOND, "privacy", (("tenant", "a"),))
    (report,) = after(event, prompts=[A, B]).invalidations
    assert report.reached == (Reach("gpu", None, 3),)


def test_an_unknown_request_is_named() -> None:
    with pytest.raises(UsageError, match="'r99'"):
        after(Invalidation(SECOND, "document", request="r99"), prompts=[A])


def write(folder: Path, text: str) -> Path:
    path = folder / "events.jsonl"
    path.write_text(text, "utf-8")
    return path


def test_events_are_read_in_time_order(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"time": "2026-03-01T12:00:00.25Z", "kind": "privacy", "tenant": "a", "route": "chat"}\n'
        "\n"
        '{"time": 1772366399, "kind": "document", "request": "r1", "from_token": 64}\n'
        '{"time": 1772366399.5, "kind": "model", "model": "m"}\n'
        '{"time": "2026-03-01T13:00:00+01:00", "kind": "template", "route": "chat"}\n',
    )
    assert read_invalidations(path) == (
        Invalidation(1772366399 * SECOND, "document", (), "r1", 64),
        Invalidation(1772366399 * SECOND + SECOND // 2, "model", (("model", "m"),)),
        Invalidation(1772366400 * SECOND, "template", (("route", "chat"),)),
        Invalidation(1772366400 * SECOND + SECOND // 4, "privacy", (("tenant", "a"), ("route", "chat"))),
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not an invalidation event"),
        ('{"time": 1, "kind": "whim", "tenant": "a"}', "whim"),
        ('{"time": 1, "kind": "privacy"}', "selects nothing"),
        ('{"time": 1, "kind": "privacy", "tenant": "a", "from_token": 5}', "needs a request"),
        ('{"time": 1, "kind": "document", "request": "r", "from_token": -5}', "negative"),
        ('{"time": "soon", "kind": "privacy", "tenant": "a"}', "soon"),
        ('{"time": 1, "kind": "privacy", "tenent": "a"}', "tenent"),
    ],
)
def test_a_line_that_is_no_event_is_shown_with_its_place(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path, '{"time": 1, "kind": "privacy", "tenant": "a"}\n' + line + "\n")
    with pytest.raises(InputError, match=r"events\.jsonl:2: .*") as caught:
        read_invalidations(path)
    assert why in str(caught.value)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_invalidations(tmp_path / "none.jsonl")
