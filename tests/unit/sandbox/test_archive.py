import json
import tarfile
from pathlib import Path

import pytest

from sandbox import archive
from sandbox.archive import Image, Layer


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "root"
    (made / "usr/bin").mkdir(parents=True)
    (made / "usr/bin/program").write_text("hello")
    (made / "usr/bin/program").chmod(0o755)
    (made / "usr/bin/link").symlink_to("program")
    return made


def image(tmp_path, root):
    layer = archive.layer(root, tmp_path / "layer.tar")
    return Image(
        names=("docker.io/library/a:1", "docker.io/library/a:2"), layers=(layer,), command=("run",), entrypoint=("enter",), user="12",
        directory="/data", environment={"A": "b"},
    )  # fmt: skip


def contents(tar):
    with tarfile.open(tar) as packed:
        return {entry.name: packed.extractfile(entry).read() if entry.isfile() else entry.linkname for entry in packed}


def test_a_layer_holds_the_directory_and_is_the_same_whenever_it_is_packed(tmp_path, root):
    one = archive.layer(root, tmp_path / "one.tar")
    (root / "usr/bin/program").touch()
    other = archive.layer(root, tmp_path / "other.tar")

    assert one.digest == other.digest
    assert contents(tmp_path / "one.tar") == {"usr": "", "usr/bin": "", "usr/bin/link": "program", "usr/bin/program": b"hello"}


def test_a_layer_can_lie_somewhere_below_the_root_of_the_image(tmp_path, root):
    archive.layer(root / "usr/bin", tmp_path / "layer.tar", prefix="opt/some")

    assert list(contents(tmp_path / "layer.tar")) == ["opt", "opt/some", "opt/some/link", "opt/some/program"]


def test_nothing_is_left_of_a_file_that_is_never_finished(tmp_path):
    def write_half():
        with archive.finished(tmp_path / "file") as unfinished:
            unfinished.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()

    assert list(tmp_path.iterdir()) == []


def test_the_configuration_says_what_to_run_and_of_which_layers(tmp_path, root):
    made = image(tmp_path, root)

    assert json.loads(archive.configuration(made)) == {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "A=b"],
            "Cmd": ["run"],
            "WorkingDir": "/data",
            "Entrypoint": ["enter"],
            "User": "12",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{made.layers[0].digest}"]},
        "history": [{"created_by": "sandbox"}],
    }


def test_an_archive_is_an_oci_layout_in_which_every_name_of_a_blob_is_its_digest(tmp_path, root):
    archive.write(image(tmp_path, root), tmp_path / "image.tar")
    found = contents(tmp_path / "image.tar")
    index = json.loads(found["index.json"])
    manifest = json.loads(found["blobs/sha256/" + index["manifests"][0]["digest"].removeprefix("sha256:")])

    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    assert [entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]] == [
        "docker.io/library/a:1",
        "docker.io/library/a:2",
    ]
    for described in (manifest["config"], *manifest["layers"]):
        assert len(found["blobs/sha256/" + described["digest"].removeprefix("sha256:")]) == described["size"]


def test_an_archive_leaves_out_layers_that_its_receiver_has(tmp_path, root):
    made = image(tmp_path, root)

    archive.write(made, tmp_path / "image.tar", without={made.layers[0].digest})

    assert f"blobs/sha256/{made.layers[0].digest}" not in contents(tmp_path / "image.tar")


def test_an_image_is_remembered_for_as_long_as_its_layers_are_there(tmp_path, root):
    made = image(tmp_path, root)
    made.keep(tmp_path / "image.json")

    assert archive.kept(tmp_path / "image.json") == made
    assert archive.kept(tmp_path / "other.json") is None
    Path(made.layers[0].tar).unlink()
    assert archive.kept(tmp_path / "image.json") is None


def test_the_digest_is_that_of_the_bytes(tmp_path):
    (tmp_path / "layer.tar").write_bytes(b"abc")

    assert archive.stored(tmp_path / "layer.tar") == Layer(
        str(tmp_path / "layer.tar"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
