"""SWE-agent, tau-bench, OpenHands and ATIF: every answer of a trajectory is a call."""

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.errors import InputError
from analyzers.logs import read_log
from analyzers.request import PartKind
from tests.analyzers.logs.session_rows import answered, assistant, read_rows, sent, user
from tests.shared_folder import SHARED, needs_shared

_SYSTEM = {"role": "system", "content": "policy"}


def test_each_answer_of_a_tau_bench_run_is_a_call(tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    called = {"content": None, "role": "assistant", "tool_calls": calls}
    result = {"role": "tool", "tool_call_id": "c", "name": "f", "content": "42"}
    runs = [
        {
            "task_id": 0,
            "trial": trial,
            "reward": 1.0,
            "info": {},
            "traj": [_SYSTEM, user("hi"), called, result],
        }
        for trial in (0, 1)
    ]
    runs[1]["traj"] += [assistant("42")]
    log = read_rows(tmp_path, json.dumps(runs), name="runs.json")
    assert [request.request_id for request in log.requests] == [
        "task 0 trial 0/1",
        "task 0 trial 1/1",
        "task 0 trial 1/2",
    ]
    assert log.requests[0].parts == log.requests[1].parts
    assert sent(log.requests[2]) == [_SYSTEM, user("hi"), called, result]
    assert answered(log.requests[0]) == called
    assert log.records == 3


def test_a_run_without_an_answer_is_skipped(tmp_path: Path) -> None:
    run = {"task_id": 0, "trial": 0, "reward": 0, "info": {}, "traj": [_SYSTEM, user("hi")]}
    answered_run = run | {"traj": [_SYSTEM, user("hi"), assistant("hello")]}
    log = read_rows(tmp_path, run, answered_run)
    assert log.skipped == {"no answer in the trajectory": 1}
    with pytest.raises(InputError, match="no answer in the trajectory"):
        read_rows(tmp_path, run)


@needs_shared
def test_recorded_tau_bench_results_read_in_full() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "data/tau_bench")])
    assert len(log.requests) == log.records == 2454


def _swe(history: list[dict[str, Any]], **fields: Any) -> str:
    return json.dumps({"environment": "e", "trajectory": [], "history": history, "info": {}} | fields)


def test_an_swe_agent_message_is_sent_without_its_bookkeeping(tmp_path: Path) -> None:
    history = [
        _SYSTEM | {"agent": "main", "message_type": "system_prompt"},
        {"agent": "main", "content": "a demonstration", "is_demo": True, "role": "user"},
        assistant("shown") | {"is_demo": True, "agent": "main"},
        user("fix it") | {"agent": "main"},
        assistant("look")
        | {"thought": "look", "action": "ls", "agent": "main", "tool_calls": [{"id": "c1"}]},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
        assistant("done") | {"agent": "main", "tool_calls": None},
    ]
    log = read_rows(tmp_path, _swe(history), name="task.traj")
    first, second = log.requests
    demonstration = {"content": "a demonstration", "role": "user"}
    assert sent(first) == [_SYSTEM, demonstration, assistant("shown"), user("fix it")]
    assert sent(second)[4:] == [
        assistant("look") | {"tool_calls": [{"id": "c1"}]},
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
    ]
    assert answered(second) == assistant("done")
    assert (first.identity.session, first.identity.route) == ("task", "main")


def test_what_an_swe_agent_step_says_was_sent_is_taken_as_the_prompt(tmp_path: Path) -> None:
    steps = [
        {"response": "one", "query": [_SYSTEM, user("fix it")]},
        {
            "response": "two",
            "query": [_SYSTEM, user("fix it"), assistant("one"), user("(old output removed)")],
        },
    ]
    log = read_rows(tmp_path, _swe([assistant("x")], trajectory=steps), name="task.traj")
    assert [len(request.parts) for request in log.requests] == [2, 4]
    assert answered(log.requests[1]) == assistant("two")


@needs_shared
def test_recorded_swe_agent_trajectories_read_in_full() -> None:
    assert SHARED is not None
    log = read_log([str(SHARED / "data/swe_agent")])
    assert len(log.requests) == log.records == 38


def _event(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "timestamp": f"2025-05-01T00:00:{number:02d}",
        "source": "agent",
        "args": {},
    } | fields


def _openhands() -> list[dict[str, Any]]:
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}]
    usage = {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 32}}
    message = {"content": "look", "role": "assistant", "tool_calls": calls, "function_call": None}
    data = {
        "function_name": "bash",
        "tool_call_id": "c1",
        "model_response": {"id": "r1", "model": "m", "choices": [{"message": message}], "usage": usage},
    }
    tools = [{"type": "function", "function": {"name": "bash"}}]
    return [
        _event(0, action="system", args={"content": "you code", "tools": tools}),
        _event(1, source="user", action="message", args={"content": "list files"}),
        _event(2, source="environment", observation="agent_state_changed", extras={}, content=""),
        _event(3, action="run", args={"command": "ls"}, tool_call_metadata=data),
        _event(4, observation="run", content="a.py", tool_call_metadata=data),
        _event(5, action="message", args={"content": "one file"}),
    ]


def test_openhands_events_become_the_calls_they_tell_of(tmp_path: Path) -> None:
    log = read_rows(tmp_path, json.dumps(_openhands()), name="traj.json")
    first, second = log.requests
    assert [part.kind for part in first.parts] == [PartKind.TOOLS, PartKind.MESSAGE, PartKind.MESSAGE]
    assert sent(first)[1:] == [{"role": "system", "content": "you code"}, user("list files")]
    assert sent(second)[3]["tool_calls"][0]["id"] == "c1"
    assert "function_call" not in sent(second)[3]
    assert sent(second)[4] == {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "a.py"}
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens) == (50, 32)
    assert (first.model, second.model, second.usage) == ("m", None, None)
    assert (log.merged, log.skipped) == (3, {"not a model call": 1})


def test_a_row_with_an_openhands_history_is_read_event_by_event(tmp_path: Path) -> None:
    log = read_rows(tmp_path, {"instance_id": "task-1", "history": _openhands(), "metrics": {}})
    assert [request.request_id for request in log.requests] == ["task-1/1", "task-1/2"]
    assert log.records == 6


def _atif(**fields: Any) -> dict[str, Any]:
    steps = [
        {"step_id": 1, "timestamp": "2026-01-01T00:00:00Z", "source": "user", "message": "list files"},
        {
            "step_id": 2,
            "timestamp": "2026-01-01T00:00:05Z",
            "source": "agent",
            "message": "look",
            "reasoning_content": "hm",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"b": 1, "a": 2}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "a.py"}]},
            "metrics": {"prompt_tokens": 100, "completion_tokens": 8, "cached_tokens": 64, "cost_usd": 0.5},
        },
        {"step_id": 3, "timestamp": "2026-01-01T00:00:09Z", "source": "agent", "message": "one file"},
    ]
    agent = {"name": "terminus", "version": "2", "model_name": "gpt-5.4"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": steps} | fields


def test_each_agent_step_of_an_atif_trajectory_is_a_call(tmp_path: Path) -> None:
    log = read_rows(tmp_path, json.dumps(_atif(), indent=1), name="trajectory.json")
    first, second = log.requests
    assert sent(first) == [user("list files")]
    call, result = sent(second)[1:]
    assert call["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"b":1,"a":2}'}
    assert call["reasoning_content"] == "hm"
    assert result == {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens, first.usage.output_tokens) == (100, 64, 8)
    assert str(first.usage.reported_cost) == "0.5"
    assert (first.model, first.identity.route) == ("gpt-5.4", "terminus")
    assert first.time_ns is not None
    assert first.end_ns is not None
    assert first.end_ns - first.time_ns == 5 * 10**9


def test_atif_keeps_tools_and_the_trajectories_inside(tmp_path: Path) -> None:
    agent = {"name": "a", "model_name": "m", "tool_definitions": [{"name": "bash"}]}
    inner = _atif(session_id="inner")
    log = read_rows(tmp_path, _atif(agent=agent, subagent_trajectories=[inner]))
    assert [request.identity.session for request in log.requests] == ["inner", "inner", "s", "s"]
    assert [part.kind for part in log.requests[2].parts] == [PartKind.TOOLS, PartKind.MESSAGE]


def test_copied_steps_of_an_atif_trajectory_are_context_not_calls(tmp_path: Path) -> None:
    trajectory = _atif()
    trajectory["steps"][1]["is_copied_context"] = True
    log = read_rows(tmp_path, trajectory)
    assert [len(request.parts) for request in log.requests] == [3]
