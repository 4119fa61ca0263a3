"""Model ids that only Amazon Bedrock gives out, so that they tell the seller whatever API a log speaks.

An inference profile's id is the model's behind a geography; the geographies are those of the AWS CDK's
CrossRegionInferenceProfileRegion and `ca` of the Bedrock user guide (November 2026).
"""

import re

_GEOGRAPHY = r"(?:us-gov|us|eu|apac|jp|au|ca|global)"
_ID = re.compile(rf"{_GEOGRAPHY}\.[a-z0-9]+\..+|anthropic\.claude-.+|amazon\.(?:nova|titan)-.+")


def is_bedrock_id(model: str) -> bool:
    """Whether the name, in lower case and without what stands in front of a slash, is an id of Bedrock's."""
    return _ID.fullmatch(model) is not None
