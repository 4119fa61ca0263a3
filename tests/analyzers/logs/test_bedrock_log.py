"""The invocation log of a Bedrock account."""

import json
from pathlib import Path
from typing import Any

from tests.analyzers.logs.writing import read_rows


def invocation(**more: Any) -> dict[str, Any]:
    return {
        "schemaType": "ModelInvocationLog",
        "schemaVersion": "1.0",
        "timestamp": "1970-01-01T00:00:01Z",
        "accountId": "123",
        "identity": {"arn": "arn:aws:iam::123:user/u"},
        "region": "eu-west-1",
        "requestId": "q1",
        **more,
    }


def test_converse_and_invoke_records_are_requests_with_inclusive_usage(tmp_path: Path) -> None:
    converse = invocation(
        operation="Converse",
        modelId="amazon.nova-lite-v1:0",
        input={
            "inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
            "inputTokenCount": 5,
            "cacheReadInputTokenCount": 90,
            "cacheWriteInputTokenCount": 5,
        },
        output={
            "outputBodyJson": {"output": {"message": {"role": "assistant", "content": []}}},
            "outputTokenCount": 3,
        },
    )
    invoke = invocation(
        operation="InvokeModelWithResponseStream",
        modelId="anthropic.claude-x",
        input={
            "inputBodyJson": {
                "anthropic_version": "bedrock-2023-05-31",
                "messages": [{"role": "user", "content": "hi"}],
            },
            "inputTokenCount": 7,
        },
        output={
            "outputBodyJson": [
                {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"text": "ok"}},
            ]
        },
    )
    first, second = read_rows(tmp_path, converse, invoke).requests
    assert first.dialect.value == "bedrock-converse"
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.read_tokens, first.usage.written_tokens) == (100, 90, 5)
    assert (first.identity.tenant, first.identity.labels) == ("123", (("region", "eu-west-1"),))
    assert second.dialect.value == "anthropic"
    assert second.output is not None
    assert json.loads(second.output.raw) == [{"type": "text", "text": "ok"}]
    assert {first.provider, second.provider} == {"bedrock"}


def test_bodies_stored_elsewhere_and_failed_invocations_are_skipped(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    rows = [
        invocation(operation="Converse", modelId="m", input={"inputBodyJson": body}),
        invocation(operation="Converse", modelId="m", input={"inputBodyS3Path": "s3://b/k"}),
        invocation(operation="Converse", modelId="m", input={"inputBodyJson": body}, errorCode="Throttling"),
    ]
    log = read_rows(tmp_path, *rows)
    assert len(log.requests) == 1
    assert log.skipped == {"no prompt": 1, "failed call": 1}
