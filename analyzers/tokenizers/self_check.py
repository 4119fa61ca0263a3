"""Does the fast engine give the ids of the slow one? Asked at load, for vocabularies nobody has tested."""

from typing import Any

import numpy as np

from analyzers.tokenizers.added_tokens import read_added_tokens
from analyzers.tokenizers.engines import Engine, encode_batch

_WORDS = (
    "The quick brown fox. It's they'RE we'Ve I'd DON'T 'tis o'clock",
    "def f(x):\n\treturn x**2  # square\n\n\n    if (a != b) { c->d[0] += 0x1F; }\r\n\r\n",
    "   leading, trailing   \n \n\t mixed \t \u00a0 \u3000 \u2003 runs      of  spaces  ",
    "1234567890 3.14159 1,000,000 2026-11-29T15:27:00Z ٠١٢٣ ½ Ⅷ",
    "北京是中国的首都。東京へ行きました。カタカナ 한국어 문장입니다 ไทยภาษา हिन्दी العربية עברית",
    "naïve café e\u0301 \u0301 Ångström ﬁ ﬀ ß ǅ Ωμέγα Привет Ёё İı",
    "😀👩‍👩‍👧‍👦🏳️‍🌈 👍🏽 \u200d\ufe0f \u200b\ufeff ∑∫√ → ░▒▓",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "n": [1, 2.5e-3, null, true]}}',
    "https://example.com/a/b?c=d&e=%20f#g user@host.org C:\\Temp\\x.txt --flag=value <a href='x'>",
    "AAAAAAAAAAAAAAAAAAAAAAAA" + "a1B2" * 40 + "=" * 70 + "\n" * 9 + "-" * 33 + " " * 50,
    "CamelCaseHTTPServer snake_case_name kebab-case x'y''z \"quoted\" `code` ...!?!? «» “ ” ‘ ’",
    "\x00\x01\x1f\x7f\x80\x85\u2028\u2029 \ufffd \U0010ffff \ue000",
)


def agrees_with(exact: Engine, fast: Engine, definition: dict[str, Any]) -> bool:
    """Whether both give the same ids for text of many scripts, joins of it, and its added tokens as text."""
    added = [token.content for token in read_added_tokens(definition)][:64]
    texts = [*_WORDS, *(a + b for a in _WORDS for b in _WORDS), ""]
    texts += [f"x {token}\n{token} y{token}{token}" for token in added]
    try:
        mine, mine_offsets = encode_batch(fast, texts)
    except Exception:
        return False
    theirs, their_offsets = encode_batch(exact, texts)
    return np.array_equal(mine_offsets, their_offsets) and np.array_equal(mine, theirs)
