"""Remote files and folders are logs like any other; what goes wrong on the other side is one sentence."""

import builtins
import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest
import zstandard

from analyzers.errors import InputError, UsageError
from analyzers.logs import read_log
from analyzers.logs.inputs import find_sources


def lines(*numbers: int) -> bytes:
    rows = [
        {"id": f"r{n}", "request": {"model": "m", "messages": [{"role": "user", "content": f"hello {n}"}]}}
        for n in numbers
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def ids(*inputs: str) -> list[str]:
    return [request.request_id for request in read_log(inputs).requests]


FILES = {
    "logs/b.jsonl.gz": gzip.compress(lines(3)),
    "logs/a.jsonl.zst": zstandard.ZstdCompressor().compress(lines(1, 2)),
    "logs/deep/c.jsonl": lines(4),
    "logs/deep/.hidden.jsonl": lines(8),
    "logs/notes.md": b"# notes",
}


@pytest.fixture
def memory() -> Iterator[str]:
    """A folder in memory."""
    system = fsspec.filesystem("memory")
    for name, content in FILES.items():
        system.pipe_file(f"/bucket/{name}", content)
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket on an S3 server of this machine."""
    import boto3
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="calls")
        for name, content in FILES.items():
            s3.put_object(Bucket="calls", Key=name, Body=content)
        s3fs.S3FileSystem.clear_instance_cache()
        yield "s3://calls"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture(params=["memory", "bucket"])
def place(request: pytest.FixtureRequest) -> str:
    """Each of the two."""
    return str(request.getfixturevalue(request.param))


def test_a_file_a_folder_and_a_glob_are_read(place: str) -> None:
    assert ids(f"{place}/logs/b.jsonl.gz") == ["r3"]
    assert ids(f"{place}/logs") == ids(f"{place}/logs/") == ["r1", "r2", "r3", "r4"]
    assert ids(f"{place}/logs/*.jsonl.*") == ["r1", "r2", "r3"]
    assert ids(f"{place}/logs/**/*.jsonl") == ["r8", "r4"]


def test_files_keep_their_scheme_in_their_names(place: str) -> None:
    assert [source.name for source in find_sources([f"{place}/logs"])] == [
        f"{place.replace('memory://', 'memory:///')}/logs/{name}"
        for name in ("a.jsonl.zst", "b.jsonl.gz", "deep/c.jsonl")
    ]


def test_a_changed_file_has_another_version(place: str) -> None:
    (source,) = find_sources([f"{place}/logs/deep/c.jsonl"])
    before = source.version()
    assert before.size == len(FILES["logs/deep/c.jsonl"])
    assert before == source.version()
    system, path = fsspec.core.url_to_fs(source.name)
    system.pipe_file(path, lines(5))
    system.invalidate_cache()
    assert source.version() != before
    system.pipe_file(path, FILES["logs/deep/c.jsonl"])


def test_what_is_not_there_is_an_error(place: str) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl does not exist"):
        read_log([f"{place}/nothing.jsonl"])
    with pytest.raises(InputError, match="No file matches"):
        read_log([f"{place}/logs/*.csv"])


def test_a_folder_without_logs_says_which_endings_are_read(memory: str) -> None:
    fsspec.filesystem("memory").pipe_file("/bucket/docs/readme.md", b"# read me")
    with pytest.raises(InputError, match=r"holds no log files: none ends in \.jsonl"):
        read_log([f"{memory}/docs"])


def test_a_bucket_that_does_not_exist_is_an_error(bucket: str) -> None:
    with pytest.raises(InputError, match=r"s3://no-such-bucket/a\.jsonl does not exist or cannot be reached"):
        read_log(["s3://no-such-bucket/a.jsonl"])


def test_a_server_that_cannot_be_reached_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    for name, value in (("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"), ("AWS_MAX_ATTEMPTS", "1")):
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(InputError, match=r"s3://calls/a\.jsonl cannot be read: Could not connect"):
        read_log(["s3://calls/a.jsonl"])
    s3fs.S3FileSystem.clear_instance_cache()


def test_an_error_while_reading_is_an_input_error(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> bytes:
        raise PermissionError("Access Denied")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", refuse)
    with pytest.raises(InputError, match=r"c\.jsonl may not be read: Access Denied; check the credentials"):
        read_log([f"{memory}/logs/deep/c.jsonl"])


@pytest.mark.parametrize(
    ("url", "install"),
    [
        ("s3://b/a.jsonl", r"pip install 'pcache-cli\[scale\]'"),
        ("gs://b/a.jsonl", r"pip install 'pcache-cli\[scale\]' gcsfs"),
        ("az://b/a.jsonl", r"pip install 'pcache-cli\[scale\]' adlfs"),
        ("abfs://b/a.jsonl", r"pip install 'pcache-cli\[scale\]' adlfs"),
    ],
)
def test_a_missing_package_is_named(url: str, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "fsspec":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        UsageError, match=rf"{url[:2]}.*:// needs a package that is not installed: {install}\.$"
    ):
        read_log([url])


def test_an_unknown_scheme_is_an_error() -> None:
    with pytest.raises(UsageError, match="nowhere://a cannot be read: Protocol not known"):
        read_log(["nowhere://a"])
