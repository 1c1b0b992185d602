from sandbox import uv

LOCK = """\
# made by something
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
beta==2.0 ; python_full_version < '3.13' \\
    --hash=sha256:ba
"""


def test_a_lock_is_taken_apart_by_package():
    assert uv.blocks(LOCK) == {
        "alpha": "alpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n",
        "beta": "beta==2.0 ; python_full_version < '3.13' \\\n    --hash=sha256:ba\n",
    }
