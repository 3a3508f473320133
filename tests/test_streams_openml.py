"""Fetching, against a server on this machine that behaves or misbehaves as OpenML might."""

import dataclasses
import gzip
import hashlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO

import numpy as np
import pytest
from typer.testing import CliRunner

from elman.cli import app
from elman.limits import DOWNLOAD_BYTES
from elman.streams import DATASETS, FetchError, _digests, _download, fetch, load
from elman.streams._arff import arff_to_csv

ARFF = b"""% made up
@RELATION 'kin'
@ATTRIBUTE y  REAL
@attribute 'theta 1' NUMERIC
@attribute theta2 integer

@DATA
% a remark
0.5,1.25,-3
0.75, ?, 4e-2
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        status, length, body = self.server.pages.get(self.path, (404, None, b""))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body.decode())
            body = b""
        if length != "unsaid":
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Stay quiet."""


class Server(ThreadingHTTPServer):
    """Pages by path: status, the length to declare (`None`: the true one, "unsaid": none), body."""

    pages: dict

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def describe(self, **changes):
        description = {
            "id": "189",
            "format": "ARFF",
            "url": f"{self.url}/kin8nm.arff",
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
            "default_target_attribute": "y",
        } | changes
        self.pages["/189"] = (200, None, json.dumps({"data_set_description": description}).encode())


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    small = dataclasses.replace(DATASETS["kin8nm"], shape=(2, 2))
    monkeypatch.setitem(DATASETS, "kin8nm", small)
    server = Server(("127.0.0.1", 0), Handler)
    server.pages = {"/kin8nm.arff": (200, None, ARFF)}
    server.describe()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("ELMAN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "elman"


def files(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_fetched_dataset_can_be_loaded(server, cache):
    path = fetch("kinematics", base_url=server.url)
    assert path == cache / "kin8nm.csv.gz"
    stream = load("kin8nm")
    X, y = stream.take()
    assert (stream.names, stream.target) == (("theta 1", "theta2"), "y")
    np.testing.assert_array_equal(X, [[1.25, -3], [np.nan, 0.04]])
    np.testing.assert_array_equal(y, [0.5, 0.75])


def test_nothing_but_the_file_is_left(server, cache):
    fetch("kin8nm", base_url=f"{server.url}/")
    assert files(cache) == ["digests.json", "kin8nm.csv.gz"]


def test_a_folder_may_be_named(server, cache, tmp_path):
    fetch("kin8nm", base_url=server.url, folder=tmp_path / "new" / "folder")
    assert files(tmp_path / "new") == ["digests.json", "folder", "kin8nm.csv.gz"]
    assert not cache.exists()


def test_the_same_data_give_the_same_file(server, tmp_path):
    first, second = (
        fetch("kin8nm", base_url=server.url, folder=tmp_path / each).read_bytes() for each in "ab"
    )
    assert first == second


def test_an_earlier_file_is_replaced_whole_and_not_changed_under_its_reader(server, cache):
    cache.mkdir()
    earlier = gzip.compress(b"a,y\n1,2\n")
    (cache / "kin8nm.csv.gz").write_bytes(earlier)
    with (cache / "kin8nm.csv.gz").open("rb") as reader:
        fetch("kin8nm", base_url=server.url)
        assert reader.read() == earlier
    assert load("kin8nm").take()[0].shape == (2, 2)


@pytest.mark.usefixtures("cache")
def test_progress_is_told_up_to_the_end(server):
    told = []
    fetch("kin8nm", base_url=server.url, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(ARFF), len(ARFF))
    assert told == sorted(told)


@pytest.mark.usefixtures("cache")
def test_progress_of_an_unknown_length_is_told_as_such(server):
    server.pages["/kin8nm.arff"] = (200, "unsaid", ARFF)
    told = []
    fetch("kin8nm", base_url=server.url, progress=lambda *news: told.append(news))
    assert told[-1] == (len(ARFF), None)


def wrong_checksum(server):
    server.describe(md5_checksum="0" * 32)


def truncated(server):
    server.pages["/kin8nm.arff"] = (200, len(ARFF) + 10, ARFF)


def truncated_without_length(server):
    server.pages["/kin8nm.arff"] = (200, "unsaid", ARFF[:-5])


def no_description(server):
    del server.pages["/189"]


def no_file(server):
    server.pages["/kin8nm.arff"] = (500, None, b"out of order")


def not_json(server):
    server.pages["/189"] = (200, None, b"<html>")


def another_json(server):
    server.pages["/189"] = (200, None, b'{"error": "none"}')


def a_local_file(server):
    server.describe(url="file:///etc/hostname")


def elsewhere(address):
    def redirected(server):
        server.pages["/kin8nm.arff"] = (302, None, address.encode())

    return redirected


def too_large(server):
    server.pages["/kin8nm.arff"] = (200, DOWNLOAD_BYTES + 1, ARFF)


def description_too_large(server):
    server.pages["/189"] = (200, None, b'{"a": "' + b" " * 1_000_000 + b'"}')


def nested_json(server):
    server.pages["/189"] = (200, None, b"[" * 100_000)


def another_shape(server):
    arff = ARFF + b"1,2,3\n"
    server.describe(md5_checksum=hashlib.md5(arff).hexdigest())
    server.pages["/kin8nm.arff"] = (200, None, arff)


def not_text(server):
    arff = ARFF + b"\xff,1,2\n"
    server.describe(md5_checksum=hashlib.md5(arff).hexdigest())
    server.pages["/kin8nm.arff"] = (200, None, arff)


@pytest.mark.parametrize(
    ("misbehave", "message"),
    [
        (wrong_checksum, r"kin8nm\.arff: the file is damaged, its MD5 is \w{32} and should be 0{32}"),
        (truncated, rf"broke off after {len(ARFF)} of {len(ARFF) + 10} bytes|IncompleteRead"),
        (truncated_without_length, "the file is damaged"),
        (no_description, "/189: the server answered 404 Not Found"),
        (no_file, r"kin8nm\.arff: the server answered 500 Internal Server Error"),
        (not_json, "/189 did not answer with JSON"),
        (another_json, "/189 did not answer with the description of a dataset"),
        (a_local_file, "only http and https addresses are fetched, got 'file:///etc/hostname'"),
        (
            elsewhere("ftp://127.0.0.1/x"),
            "only http and https addresses are fetched, got 'ftp://127.0.0.1/x'",
        ),
        (elsewhere("file:///etc/hostname"), "Redirection to url 'file:///etc/hostname' is not allowed"),
        (too_large, r"is larger than 100,000,000 bytes, the limit of a download"),
        (description_too_large, "more than 1,000,000 bytes, the limit of a description"),
        (nested_json, "/189 did not answer with JSON"),
        (another_shape, "has 3 rows of 2 inputs, but kin8nm has 2 of 2: it is another data set"),
        (not_text, "the ARFF file is not UTF-8 text"),
    ],
)
class TestMisbehaviour:
    def test_is_told_and_leaves_no_file(self, server, cache, misbehave, message):
        misbehave(server)
        with pytest.raises(FetchError, match=message):
            fetch("kin8nm", base_url=server.url)
        assert not cache.exists() or files(cache) == []

    def test_leaves_an_earlier_file_alone(self, server, cache, misbehave, message):
        cache.mkdir()
        (cache / "kin8nm.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n"))
        misbehave(server)
        with pytest.raises(FetchError, match=message):
            fetch("kin8nm", base_url=server.url)
        assert files(cache) == ["kin8nm.csv.gz"]
        assert load("kin8nm").take()[1] == [2.0]


def test_a_server_that_is_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(FetchError, match=r"/189 could not be reached: .*refused"):
        fetch("kin8nm", base_url=f"http://127.0.0.1:{port}", folder=tmp_path)


def test_a_file_that_makes_no_sense_leaves_no_file(server, cache):
    server.describe(default_target_attribute="z")
    with pytest.raises(ValueError, match="has no attribute 'z'; it has y, theta 1, theta2"):
        fetch("kin8nm", base_url=server.url)
    assert files(cache) == []


def test_a_dataset_that_is_not_at_openml_is_refused():
    with pytest.raises(ValueError, match="etth1 is not at OpenML"):
        fetch("etth1", base_url="http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not an ARFF file: it has no line @data"),
        ("@attribute y real\n", "not an ARFF file: it has no line @data"),
        ("@attribute y\n@data\n", "ARFF line 1: cannot read '@attribute y'"),
        (
            "@attribute y real\n@attribute c {a,b}\n@data\n",
            "line 2: attribute 'c' is {a,b}, only numbers are read",
        ),
        ("@attribute y real\n@data\n\n1,2\n", "ARFF line 4: expected 1 values, got 2"),
        ("@attribute y real\n@data\n{0 1.5}\n", r"ARFF line 3: sparse rows .* are not read"),
        ("@attribute y real\n@data\nmany\n", "ARFF line 3: 'many' is not a finite number"),
        ("@attribute y real\n@data\n1e999\n", "ARFF line 3: '1e999' is not a finite number"),
    ],
)
def test_arff_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        arff_to_csv(text.splitlines(), "y", StringIO())


def test_a_download_without_a_length_ends_at_the_limit(server, cache, monkeypatch):
    monkeypatch.setattr(_download, "DOWNLOAD_BYTES", 10)
    server.pages["/kin8nm.arff"] = (200, "unsaid", ARFF)
    with pytest.raises(FetchError, match="is larger than 10 bytes, the limit of a download"):
        fetch("kin8nm", base_url=server.url)
    assert files(cache) == []


def test_http_is_fetched_only_where_the_user_has_asked_for_it(server):
    with pytest.raises(FetchError, match="only https addresses are fetched, got 'http:"):
        _download.get_json(f"{server.url}/189")


def test_a_redirection_from_https_to_http_is_not_followed():
    with pytest.raises(FetchError, match="only https addresses are fetched, got 'http://there/x'"):
        _download._Redirects(plain=False).redirect_request(None, None, 302, "", {}, "http://there/x")


def changed(server):
    arff = ARFF.replace(b"0.5,", b"0.6,")
    server.describe(md5_checksum=hashlib.md5(arff).hexdigest())
    server.pages["/kin8nm.arff"] = (200, None, arff)


def test_another_file_than_the_first_is_refused_and_the_first_kept(server, cache):
    fetch("kin8nm", base_url=server.url)
    changed(server)
    with pytest.raises(
        FetchError, match=r"it has been changed. If that is right remove kin8nm from .*digests"
    ):
        fetch("kin8nm", base_url=server.url)

    assert load("kin8nm").take()[1].tolist() == [0.5, 0.75]
    (cache / "digests.json").write_text("{}")
    fetch("kin8nm", base_url=server.url)
    assert load("kin8nm").take()[1].tolist() == [0.6, 0.75]


@pytest.mark.usefixtures("cache")
def test_a_file_with_another_digest_than_is_pinned_is_refused(server, monkeypatch):
    monkeypatch.setitem(_digests.PINNED, "kin8nm", hashlib.sha256(ARFF).hexdigest())
    fetch("kin8nm", base_url=server.url)
    changed(server)
    with pytest.raises(FetchError, match="but elman knows the file as"):
        fetch("kin8nm", base_url=server.url)


def test_a_cached_file_that_is_damaged_does_not_break_the_list(cache):
    cache.mkdir()
    (cache / "kin8nm.csv.gz").write_bytes(b"not gzip")
    (cache / "etth1.csv").write_bytes(b"\xff\xfe")
    result = CliRunner().invoke(app, ["data", "list"], catch_exceptions=False)
    said = " ".join(result.stdout.split())

    assert result.exit_code == 0
    assert said.count("damaged") == 2
    assert "elevators" in said


@pytest.mark.usefixtures("cache")
def test_a_file_that_makes_no_sense_is_no_mistake_of_the_command(server):
    server.describe(default_target_attribute="z")
    arguments = ["data", "fetch", "kin8nm", "--base-url", server.url]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)

    assert result.exit_code == 3
    assert "has no attribute 'z'" in result.stderr
