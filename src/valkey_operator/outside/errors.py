"""The one error of the plugin."""


class NotCheckedError(Exception):
    """Nothing could be found out; the message says what is the matter, where, and what to do now."""
