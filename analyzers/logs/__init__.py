"""Logs in any known format as a `Log` of requests. A new format is one file and one line of FORMATS."""

from collections.abc import Mapping, Sequence

from analyzers.logs.aibrix import Aibrix
from analyzers.logs.anthropic import Anthropic
from analyzers.logs.anthropic_batch import AnthropicBatch
from analyzers.logs.atif import Atif
from analyzers.logs.bedrock import BedrockConverse
from analyzers.logs.bedrock_log import BedrockInvocationLog
from analyzers.logs.cache_objects import CacheObjects
from analyzers.logs.claude_code import ClaudeCode
from analyzers.logs.codex import Codex
from analyzers.logs.gemini import Gemini
from analyzers.logs.har import HAR
from analyzers.logs.hash_trace import HashTrace
from analyzers.logs.inspect_ai import InspectAI
from analyzers.logs.langfuse import Langfuse
from analyzers.logs.lengths import LengthsOnly
from analyzers.logs.litellm import LiteLLM
from analyzers.logs.lmcache import LMCache
from analyzers.logs.openai_batch import OpenAIBatch
from analyzers.logs.openai_chat import OpenAIChat
from analyzers.logs.openai_responses import OpenAIResponses
from analyzers.logs.openhands import OpenHands
from analyzers.logs.prompts import Prompts
from analyzers.logs.reader import Reader
from analyzers.logs.reading import read
from analyzers.logs.swe_agent import SweAgent
from analyzers.logs.tau_bench import TauBench
from analyzers.logs.telemetry import OpenInference, Telemetry
from analyzers.logs.token_ids import TokenIds
from analyzers.logs.usage_rows import UsageRows
from analyzers.logs.vcr import VCR
from analyzers.request import Log

FORMATS: tuple[type[Reader], ...] = (
    ClaudeCode,
    Codex,
    Atif,
    OpenHands,
    SweAgent,
    TauBench,
    InspectAI,
    Langfuse,
    OpenInference,
    Telemetry,
    VCR,
    HAR,
    LiteLLM,
    OpenAIBatch,
    AnthropicBatch,
    BedrockInvocationLog,
    BedrockConverse,
    Gemini,
    OpenAIResponses,
    Anthropic,
    OpenAIChat,
    LMCache,
    HashTrace,
    TokenIds,
    Aibrix,
    CacheObjects,
    UsageRows,
    LengthsOnly,
    Prompts,
)
"""Every format, the surer ones first: of equal scores the first wins."""


def read_log(
    inputs: Sequence[str],
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Log:
    """Read files, directories, globs or `-` (standard input), plain, gzip or zstd, in the order given.

    The format is detected from the content of each file unless `format` names one; `mapping` gives the
    columns of a plain table (our field -> its column or dotted path). Requests stand in file order.

    Raises InputError when an input is missing, unreadable or in no known format, when no record at all is a
    model call, and, if `strict`, at the first record that cannot be read; UsageError for an unknown format.
    """
    return read(inputs, FORMATS, format=format, mapping=mapping, strict=strict)
