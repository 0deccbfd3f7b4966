"""Names, digests and contexts of images."""

import json
import tarfile

import pytest

from dev import archive, build_image, gpus, load_image, wheels
from dev.shell import DevError


@pytest.mark.parametrize(
    ("tag", "full"),
    [
        ("localhost/operator:abc", "localhost/operator:abc"),
        ("localhost/operator", "localhost/operator:latest"),
        ("busybox", "docker.io/library/busybox:latest"),
        ("kindest/node:v1", "docker.io/kindest/node:v1"),
        ("localhost:5000/a/b", "localhost:5000/a/b:latest"),
    ],
)
def test_full_name_is_the_kubelets(tag, full):
    assert load_image.full_name(tag) == full


def test_repository_is_the_name_without_tag():
    assert load_image.repository("localhost:5000/a/b:c") == "localhost:5000/a/b"
    assert load_image.repository("localhost:5000/a/b") == "localhost:5000/a/b"


def test_an_image_is_known_only_under_the_same_content_and_by_digest():
    images = load_image.parse_images(
        {"images": [{"id": "sha256:1", "repoTags": ["localhost/a:1"], "repoDigests": ["localhost/a@sha256:9"]}]}
    )
    wanted = load_image.Wanted("localhost/a:1", "sha256:1", None)
    assert load_image.known_reference(images, wanted) == "localhost/a@sha256:9"
    assert load_image.known_reference(images, load_image.Wanted("localhost/a:1", "sha256:2", None)) is None
    assert load_image.known_reference({"localhost/a:1": ("sha256:1", [])}, wanted) is None


def test_digest_is_read_from_the_line_of_the_tag():
    listing = "REF TYPE DIGEST SIZE\nlocalhost/a:12 t sha256:2 1\nlocalhost/a:1 t sha256:1 1\n"
    assert load_image.target_digest(listing, "localhost/a:1") == "sha256:1"
    with pytest.raises(DevError, match="not on the node"):
        load_image.target_digest(listing, "localhost/b:1")


def make_archive(folder, name="image.tar"):
    layer = folder / f"{name}.layer"
    archive.write_layer(layer, {"/bin/x": b"program", "/etc/y": b"text"})
    target = folder / name
    archive.write_archive(target, "localhost/x:1", [layer], archive.ImageConfig(("/bin/x",), "65532"))
    return target


def test_an_archive_has_the_same_bytes_every_time(tmp_path):
    assert make_archive(tmp_path, "a.tar").read_bytes() == make_archive(tmp_path, "b.tar").read_bytes()


def test_an_archive_says_what_it_holds(tmp_path):
    target = make_archive(tmp_path)
    (wanted,) = load_image.read_archive(target)
    with tarfile.open(target) as tar:
        config = json.load(tar.extractfile(wanted.config.removeprefix("sha256:") + ".json"))
    assert wanted.tag == "localhost/x:1"
    assert config["config"]["User"] == "65532"


def test_an_archive_without_images_is_refused(tmp_path):
    target = tmp_path / "other.tar"
    with tarfile.open(target, "w"):
        pass
    with pytest.raises(DevError, match=r"no manifest\.json"):
        load_image.read_archive(target)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "image.tar").write_text("text")
    with pytest.raises(DevError, match="is no tar archive"):
        load_image.read_archive(tmp_path / "image.tar")


def test_base_is_named_in_the_first_comment():
    assert build_image.local_base("# local-base: triton-base\nFROM x\n") == "triton-base"
    assert build_image.local_base("FROM x\n") == "python-base"


def test_only_a_dockerfile_that_uses_dist_gets_the_wheel():
    assert build_image.wants_wheel("COPY dist/ dist/\n")
    assert not build_image.wants_wheel("# nothing from dist/\nFROM x\n")


def test_image_key_sees_folder_base_and_repository(tmp_path):
    folder = tmp_path / "images" / "a"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("COPY dist/ dist/\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "operator").mkdir()
    for name in ("LICENSE", "README.md"):
        (tmp_path / name).touch()
    keys = {build_image.image_key(folder, tmp_path, "base:1"), build_image.image_key(folder, tmp_path, "base:2")}
    (tmp_path / "operator" / "a.py").write_text("x = 1\n")
    keys.add(build_image.image_key(folder, tmp_path, "base:1"))
    (folder / "more").touch()
    keys.add(build_image.image_key(folder, tmp_path, "base:1"))
    assert len(keys) == 4


def test_another_python_downloads_for_the_images_python(tmp_path):
    assert "--python-version=3.11" in wheels.command(tmp_path, tmp_path, same_python=False)
    assert "--require-hashes" in wheels.command(tmp_path, tmp_path, same_python=True)


def test_fake_gpus_go_to_a_node_that_takes_pods():
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    nodes = [
        {"metadata": {"name": "cp"}, "spec": {"taints": [taint]}},
        {"metadata": {"name": "fake", "annotations": {"kwok.x-k8s.io/node": "fake"}}, "spec": {}},
        {"metadata": {"name": "worker"}, "spec": {}},
    ]
    assert gpus.pick_node(nodes) == "worker"
    with pytest.raises(DevError):
        gpus.pick_node(nodes[:2])
    assert gpus.patch(4)[0] == {"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "4"}
    assert {each["op"] for each in gpus.patch(0)} == {"remove"}
