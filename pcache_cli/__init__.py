"""What a person types and sees: commands parse options, reports turn results into bytes."""

__version__ = "0.1.0"
