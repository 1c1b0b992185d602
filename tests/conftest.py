"""Hypothesis counts no seconds: machines that run tests are slow and busy."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
