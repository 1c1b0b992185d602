from pathlib import Path

import pytest

from sandbox.home import Home


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/valkey-operator/sandbox"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/caches"}, "/caches/valkey-operator/sandbox"),
        ({"HOME": "/home/me", "VALKEY_OPERATOR_CACHE": "/big/cache"}, "/big/cache/sandbox"),
        ({"VALKEY_OPERATOR_CACHE": "/big/cache", "VALKEY_SANDBOX_HOME": "/elsewhere"}, "/elsewhere"),
    ],
)
def test_the_home_lies_where_the_environment_says(environment, path):
    assert Home.of(environment).path == Path(path)
