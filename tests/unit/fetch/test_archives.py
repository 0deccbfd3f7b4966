"""Archives: the good ones in each format, and every attack refused with the member's name."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile

import pytest
from backports import zstd

from inferenceversion_operator.api.archive import Kind, kind_of
from inferenceversion_operator.api.content_hash import hash_manifest
from inferenceversion_operator.fetch.archives import extract
from inferenceversion_operator.fetch.errors import FetchError, Reason
from inferenceversion_operator.fetch.limits import Budget, Limits
from inferenceversion_operator.fetch.tree import Tree
from tests.unit.fetch.support import shell_hash

GOOD = {"model.onnx": b"weights" * 1000, "pre/Tokenizer.json": b"{}", "pre/tokenizer.json": b"{ }", "a/b/c/d": b""}


def tar(*members, mode="w"):
    """Build a tar of (name, content or TarInfo changes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            data = b""
            if isinstance(content, bytes):
                data, info.size = content, len(content)
            else:
                for key, value in content.items():
                    setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_(*members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content, *mode in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            info.create_system = 3
            info.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    return out.getvalue()


def unpack(tmp_path, kind, data, limits=None, step=1000):
    budget = Budget(limits or Limits())

    def chunks():
        for begin in range(0, len(data), step):
            chunk = data[begin : begin + step]
            budget.receive(len(chunk))
            yield chunk

    root = tmp_path / "tree"
    root.mkdir()
    tree = Tree(root, budget)
    extract(kind, chunks(), tree, tmp_path / "archive")
    return tree


def refused(tmp_path, kind, data, limits=None):
    with pytest.raises(FetchError) as caught:
        unpack(tmp_path, kind, data, limits)
    for path in tmp_path.rglob("*"):
        assert path.is_file() or path.is_dir()
        assert not path.is_symlink()
    assert {path.name for path in tmp_path.parent.iterdir()} == {tmp_path.name}  # nothing beside
    return caught.value


@pytest.fixture
def tmp_path(tmp_path):  # a folder of its own, so that one sees what lands beside it
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


GOOD_TAR = tar(*GOOD.items())
FORMATS = {
    Kind.TAR: GOOD_TAR,
    Kind.TAR_GZ: gzip.compress(GOOD_TAR),
    Kind.TGZ: gzip.compress(GOOD_TAR[:4096]) + gzip.compress(GOOD_TAR[4096:]),  # as pigz and bgzip write it
    Kind.TAR_ZST: zstd.compress(GOOD_TAR[:4096]) + zstd.compress(GOOD_TAR[4096:]),  # as pzstd writes it
    Kind.ZIP: zip_(*GOOD.items()),
}


@pytest.mark.parametrize("step", [1, 511, 100_000])
@pytest.mark.parametrize("kind", Kind)
def test_every_format_gives_the_same_tree(tmp_path, kind, step):
    tree = unpack(tmp_path, kind, FORMATS[kind], step=step)
    assert hash_manifest(tree.files) == shell_hash(tree.root)
    assert {name: (tree.root / name).read_bytes() for name in tree.files} == GOOD


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_forms_of_tar(tmp_path, form):
    out = io.BytesIO()
    name = "ordner/ä/" + "n" * (60 if form == tarfile.USTAR_FORMAT else 200)
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for part in ("./", "./ordner/", name):
            info = tarfile.TarInfo(part)
            info.type = tarfile.DIRTYPE if part.endswith("/") else tarfile.REGTYPE
            info.size = 0 if part.endswith("/") else 3
            archive.addfile(info, io.BytesIO(b"abc"))
    assert list(unpack(tmp_path, Kind.TAR, out.getvalue()).files) == [name]


def test_modes_are_normal_whatever_the_archive_says(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, mode in (("setuid", 0o6755), ("secret", 0o000), ("open", 0o777)):
            info = tarfile.TarInfo(name)
            info.mode = mode
            archive.addfile(info, io.BytesIO(b""))
    root = unpack(tmp_path, Kind.TAR, out.getvalue()).root
    assert [oct((root / n).stat().st_mode & 0o7777) for n in ("setuid", "secret", "open")] == [
        "0o755",
        "0o644",
        "0o755",
    ]


def link(kind, to):
    return {"type": kind, "linkname": to}


TAR_ATTACKS = {
    "absolute name": ([("/etc/cron.d/x", b"x")], "/etc/cron.d/x", "absolute"),
    "dot dot": ([("../x", b"x")], "../x", ".."),
    "dot dot within": ([("a/../../x", b"x")], "a/../../x", ".."),
    "dot slash slash": ([(".//x/../y", b"x")], ".//x/../y", ".."),
    "empty step": ([("a//b", b"x")], "a//b", "empty step"),
    "symlink out": ([("l", link(tarfile.SYMTYPE, "/etc/passwd"))], "l", "symbolic link"),
    "symlink within": ([("f", b"x"), ("l", link(tarfile.SYMTYPE, "f"))], "l", "symbolic link"),
    "write through a symlink": ([("d", link(tarfile.SYMTYPE, "/tmp")), ("d/x", b"x")], "d", "symbolic link"),
    "hard link": ([("l", link(tarfile.LNKTYPE, "/etc/passwd"))], "l", "hard link"),
    "character device": ([("dev", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5})], "dev", "device"),
    "block device": ([("dev", {"type": tarfile.BLKTYPE})], "dev", "device"),
    "pipe": ([("p", {"type": tarfile.FIFOTYPE})], "p", "pipe"),
    "sparse": ([("s", {"type": tarfile.GNUTYPE_SPARSE})], "s", "sparse"),
    "unknown type": ([("u", {"type": b"Z"})], "u", "unknown kind"),
    "twice": ([("m", b"good"), ("m", b"bad")], "m", "twice"),
    "twice, spelled otherwise": ([("m", b"good"), ("./m", b"bad")], "m", "twice"),
    "file, then below it": ([("m", b"x"), ("m/n", b"x")], "m", "as a file and as a folder"),
    "folder, then file": ([("m/n", b"x"), ("m", b"x")], "m", "as a file and as a folder"),
    "file, then folder": ([("m", b"x"), ("m", {"type": tarfile.DIRTYPE})], "m", "as a file and as a folder"),
    "newline in a name": ([("a\nb", b"x")], "a\\nb", "control character"),
    "escape sequence in a name": ([("a\x1b[2Jb", b"x")], "a\\x1b[2Jb", "control character"),
    "backslash": ([("a\\..\\b", b"x")], "a\\\\..\\\\b", "backslash"),
    "not UTF-8": ([("a\udcff", b"x")], "a\\udcff", "UTF-8"),
    "too deep": ([("/".join("d" * 40), b"x")], "d/d", "deeper"),
    "name too long": ([("n" * 256, b"x")], "nnn", "too long"),
    "folder that leads out": ([("../../d", {"type": tarfile.DIRTYPE})], "../../d", ".."),
}


@pytest.mark.parametrize(("members", "name", "why"), TAR_ATTACKS.values(), ids=TAR_ATTACKS.keys())
@pytest.mark.parametrize("kind", [Kind.TAR, Kind.TAR_GZ, Kind.TAR_ZST])
def test_a_hostile_tar_is_refused_by_the_name_of_its_member(tmp_path, kind, members, name, why):
    data = tar(*members)
    packed = {Kind.TAR: data, Kind.TAR_GZ: gzip.compress(data), Kind.TAR_ZST: zstd.compress(data)}[kind]
    error = refused(tmp_path, kind, packed)
    assert error.reason is Reason.SOURCE_INVALID
    assert not error.transient
    assert name in error.message
    assert why in error.message
    assert error.message.isprintable()


ZIP_ATTACKS = {
    "absolute name": ([("/etc/x", b"x")], "/etc/x", "absolute"),
    "dot dot": ([("../x", b"x")], "../x", ".."),
    "backslash dot dot": ([("..\\x", b"x")], "..\\\\x", "backslash"),
    "symlink": ([("l", b"/etc/passwd", stat.S_IFLNK | 0o777)], "l", "symbolic link"),
    "device": ([("d", b"", stat.S_IFCHR | 0o666)], "d", "device"),
    "too deep": ([("/".join("d" * 40), b"x")], "d/d", "deeper"),
}


@pytest.mark.parametrize(("members", "name", "why"), ZIP_ATTACKS.values(), ids=ZIP_ATTACKS.keys())
def test_a_hostile_zip_is_refused_by_the_name_of_its_member(tmp_path, members, name, why):
    error = refused(tmp_path, Kind.ZIP, zip_(*members))
    assert error.reason is Reason.SOURCE_INVALID
    assert name in error.message
    assert why in error.message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_a_name_twice_is_refused(tmp_path):
    assert "twice" in refused(tmp_path, Kind.ZIP, zip_(("m", b"good"), ("m", b"bad"))).message


def test_an_encrypted_zip_is_refused(tmp_path):
    data = bytearray(zip_(("m", b"x" * 100)))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refused(tmp_path, Kind.ZIP, bytes(data)).message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_with_an_odd_method_is_refused(tmp_path, method):
    assert "method" in refused(tmp_path, Kind.ZIP, zip_(("m", b"x"), method=method)).message


def test_a_zip_whose_members_overlap_is_refused(tmp_path):
    """The bomb that shares one kernel of bytes between all members."""
    data = bytearray(zip_(("a", b"x" * 1000), ("b", b"x" * 1000)))
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, second + 42, 0)
    assert "overlaps" in refused(tmp_path, Kind.ZIP, bytes(data)).message


def test_a_zip_that_lies_about_its_size_is_refused(tmp_path):
    data = bytearray(zip_(("a", b"x" * 1000)))
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + 24, 100)
    assert refused(tmp_path, Kind.ZIP, bytes(data)).reason is Reason.SOURCE_INVALID


ZEROS = bytes(1 << 20)


def zeros_tar(mebibytes):
    return tar(*((f"z{number}", ZEROS) for number in range(mebibytes)))


@pytest.mark.parametrize("kind", [Kind.TAR_GZ, Kind.TAR_ZST, Kind.ZIP])
def test_a_bomb_ends_at_the_ratio(tmp_path, kind):
    data = {
        Kind.TAR_GZ: lambda: gzip.compress(zeros_tar(100)),
        Kind.TAR_ZST: lambda: zstd.compress(zeros_tar(100)),
        Kind.ZIP: lambda: zip_(*((f"z{number}", ZEROS) for number in range(100))),
    }[kind]()
    error = refused(tmp_path, kind, data)
    assert error.reason is Reason.SOURCE_TOO_LARGE
    assert "--max-expansion" in error.message


def test_a_bomb_ends_at_the_bytes(tmp_path):
    error = refused(tmp_path, Kind.TAR_GZ, gzip.compress(zeros_tar(20)), Limits(max_bytes=10 << 20))
    assert error.reason is Reason.SOURCE_TOO_LARGE
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 11 << 20


@pytest.mark.parametrize("kind", [Kind.TAR, Kind.ZIP])
def test_too_many_files(tmp_path, kind):
    many = [(f"f{number}", b"") for number in range(30)]
    data = tar(*many) if kind is Kind.TAR else zip_(*many)
    error = refused(tmp_path, kind, data, Limits(max_files=20))
    assert error.reason is Reason.SOURCE_TOO_LARGE
    assert "20" in error.message


def test_too_many_folders(tmp_path):
    folders = [(f"d{number}", {"type": tarfile.DIRTYPE}) for number in range(30)]
    assert "folders" in refused(tmp_path, Kind.TAR, tar(*folders), Limits(max_files=20)).message


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path):
    """A long name of 1 GiB: tarfile would read it whole."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    data = info.tobuf(tarfile.GNU_FORMAT) + b"n" * 4096
    assert "header" in refused(tmp_path, Kind.TAR, data).message


def test_a_member_of_negative_size_is_refused(tmp_path):
    header = bytearray(tarfile.TarInfo("m").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 11 + b"\x00"  # base 256, negative
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert refused(tmp_path, Kind.TAR, bytes(header) + bytes(1024)).reason is Reason.SOURCE_INVALID


def test_a_zstd_frame_with_a_huge_window_is_refused(tmp_path):
    options = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.enable_long_distance_matching: 1}
    compressor = zstd.ZstdCompressor(options=options)
    data = compressor.compress(GOOD_TAR) + compressor.flush()
    assert refused(tmp_path, Kind.TAR_ZST, data).reason is Reason.SOURCE_INVALID


BROKEN = {
    "not an archive": b"<html>sign in</html>" * 100,
    "cut in the middle": None,
    "nothing": b"",
    "noise": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("kind", Kind)
def test_what_is_no_whole_archive_is_invalid(tmp_path, kind, what):
    data = BROKEN[what]
    if data is None:
        data = FORMATS[kind][: len(FORMATS[kind]) // 2] if kind is not Kind.TAR else GOOD_TAR[:1500]
    error = refused(tmp_path, kind, data)
    assert error.reason is Reason.SOURCE_INVALID
    assert "archive" in error.message


NAMES = {
    "https://h/a.tar.gz?sig=x.zip": Kind.TAR_GZ,
    "https://h/A.TGZ": Kind.TGZ,
    "s3://b/x.tar.zst": Kind.TAR_ZST,
    "pvc://claim/m.tar": Kind.TAR,
    "https://h/m.zip#x": Kind.ZIP,
    "https://h/m.onnx?x=.zip": None,
    "https://h/zip": None,
    "https://h.zip/model": None,
    "https://h/a.gz": None,
}


@pytest.mark.parametrize(("source", "kind"), NAMES.items())
def test_the_path_of_the_url_says_which_archive_it_is(source, kind):
    assert kind_of(source) is kind
