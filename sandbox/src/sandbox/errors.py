"""The one exception that the sandbox shows to people."""


class SandboxError(Exception):
    """Says what went wrong and, where it is known, what to do about it; shown without a traceback."""
