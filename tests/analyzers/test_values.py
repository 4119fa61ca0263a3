"""Names of values that were found to change."""

import pytest

from analyzers.divergence import ValueKind
from analyzers.values import kind_of_value, kind_of_values, widened


@pytest.mark.parametrize(
    ("left", "value", "kind"),
    [
        ("Time: ", "09:00:11", ValueKind.CLOCK),
        ("Now it is ", "Monday, October 5, 2026, 09:00:11 AM UTC", ValueKind.CLOCK),
        ("at ", "2026-10-05T09:00:11Z", ValueKind.CLOCK),
        ("ts=", "1790000000", ValueKind.CLOCK),
        ("Today is ", "Mon Oct 05 2026", ValueKind.DATE),
        ("trace ", "0b7c4e62-93a1-4c52-8a53-4cf0f5f3f5aa", ValueKind.RANDOM_ID),
        ("sig=", "1f0c9", ValueKind.RANDOM_ID),
        ("job ", "01J9ZK3T5Q8W7V6B4N2M1XCDEF", ValueKind.RANDOM_ID),
        ("Turn ", "7 of 20", ValueKind.COUNTER),
        ("Tokens left: ", "18,204", ValueKind.COUNTER),
        ("Working directory: ", "/srv/app/src", ValueKind.ENVIRONMENT),
        ("branch: ", "main", ValueKind.ENVIRONMENT),
        ("Customer: ", "Ann Lee", ValueKind.IDENTITY),
        ("Write to ", "ann@example.org", ValueKind.IDENTITY),
        ("Known facts:\n", "- likes tea\n- lives by the sea", ValueKind.RETRIEVED),
        ("Mood: ", "cheerful", ValueKind.OTHER),
        ("Version ", "2.14.1", ValueKind.OTHER),
    ],
)
def test_what_a_value_looks_like(left: str, value: str, kind: ValueKind) -> None:
    assert kind_of_value(value, left) is kind


def test_a_span_grows_to_the_whole_time_it_lies_in() -> None:
    text = "Hello. Current time: Monday, October 5, 2026, 09:00:11 AM UTC\nRules follow."
    start, end = widened(text, text.index("11 AM"), text.index("11 AM") + 2)
    assert text[start:end] == "Monday, October 5, 2026, 09:00:11 AM UTC"


def test_a_span_grows_to_the_whole_word_and_no_further() -> None:
    text = "id=ab12cd34, next"
    assert widened(text, 5, 6) == (3, 12)


def test_values_of_no_common_kind_are_other() -> None:
    values = [("09:00:11", ""), ("Ann", "name "), ("x91f2z", "")]
    assert kind_of_values(values) is ValueKind.OTHER
