import pytest

from sandbox import build
from sandbox.errors import SandboxError

GO_MOD = """\
module sandbox/kubernetes

go 1.26

require (
	k8s.io/kubernetes v1.35.4
)
"""


def test_reads_the_version_that_the_module_requires():
    assert build.required_version(GO_MOD, module="k8s.io/kubernetes") == "1.35.4"
    assert build.required_version("require k8s.io/kubernetes v1.35.4\n", module="k8s.io/kubernetes") == "1.35.4"


def test_says_so_when_the_module_requires_no_kubernetes():
    with pytest.raises(SandboxError, match=r"go\.mod does not require"):
        build.required_version("module other\n", module="k8s.io/kubernetes")


def test_programs_are_told_their_version():
    assert build.link_flags("1.35.4") == (
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.4 -X k8s.io/component-base/version.gitMajor=1"
        " -X k8s.io/component-base/version.gitMinor=35 -X k8s.io/client-go/pkg/version.gitVersion=v1.35.4"
    )


@pytest.mark.parametrize(
    ("said", "is_new_enough"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go1.26 linux/amd64", True),
        ("go version go1.27rc1 linux/amd64", True),
        ("go version go2.0.1 linux/amd64", True),
        ("go version go1.19.8 linux/amd64", False),
        ("go version go1.9 linux/amd64", False),
        ("go: command of another kind", False),
    ],
)
def test_knows_a_go_that_is_new_enough(said, is_new_enough):
    assert build.is_new_enough(said, go_mod=GO_MOD) is is_new_enough


def test_any_change_of_the_sources_makes_another_key(tmp_path):
    for name in ("main.go", "go.mod", "go.sum"):
        (tmp_path / name).write_text(name)
    keys = [build.key(tmp_path)]
    for name in ("main.go", "go.mod", "go.sum"):
        (tmp_path / name).write_text(f"{name} changed")
        keys.append(build.key(tmp_path))

    assert len(set(keys)) == 4
    assert build.key(tmp_path) == keys[-1]
