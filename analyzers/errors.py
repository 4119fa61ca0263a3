"""The errors a user can cause: one sentence each, with the exit code it ends the run with."""


class PcacheError(Exception):
    """Says what is wrong, where, and what to do, in one sentence. Shown without a traceback."""

    exit_code = 2


class UsageError(PcacheError):
    """An option or a combination of options that makes no sense. Exit code 2."""


class InputError(PcacheError):
    """Input that cannot be read: missing, damaged, or in no known format. Exit code 2."""


class CannotEvaluateError(PcacheError):
    """The question is fine but the answer cannot be known from this input. Exit code 3."""

    exit_code = 3
