"""Who may do what, and what a hostile client can do: nothing but be refused."""

import asyncio
import base64
import contextlib
import random
import socket
from http.client import HTTPException

import pytest

pytest.importorskip("fastapi", reason="the extra elman[serve] is not installed")

from elman.serve.limits import Limits
from elman.serve.tokens import Tokens
from elman.serve.watchers import Watched
from serving import served

SRNN = {"model": "SRNN-WOGD", "options": {"lags": 0, "n_hidden": 5, "window": 20}}
READ, WRITE = "reader-0123456789abcdef", "writer-0123456789abcdef"
TOKENS = Tokens.of(f"# for the tests\nread {READ}\nwrite {WRITE}\n")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with served(tmp_path_factory.mktemp("guarded") / "store.db", tokens=TOKENS) as connect:
        assert connect(WRITE).put("/streams/pump", SRNN).status == 201
        assert connect(WRITE).put("/streams/load", {"model": "Forecaster"}).status == 201
        yield connect


@pytest.fixture(scope="module")
def operations(guarded):
    """Every method and path of the OpenAPI description."""
    paths = guarded(READ).get("/openapi.json").json["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    limits = Limits(body_bytes=200_000, header_seconds=0.5, body_seconds=0.5)
    with served(tmp_path_factory.mktemp("open") / "store.db", limits=limits) as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        client.post("/streams/pump/rows", {"x": [1.0, 2.0], "y": 1.0})
        yield connect


def concrete(path):
    name = "load" if path.endswith("/forecast") else "pump"
    return path.replace("{name}", name).replace("{file}", "style.css")


def test_every_route_needs_a_token_where_there_are_some(guarded, operations):
    assert len(operations) >= 15
    for method, path in [*operations, ("GET", "/openapi.json"), ("GET", "/nothing"), ("HEAD", "/")]:
        for client in (guarded(), guarded("wrong-0123456789abcdef"), guarded("")):
            assert client(method, concrete(path), {}).status == 401, (method, path)


def test_a_token_to_read_changes_nothing(guarded, operations):
    state = guarded(READ).get("/streams/pump/state").body
    for method, path in operations:
        if method not in ("GET", "HEAD"):
            assert guarded(READ)(method, concrete(path), {"x": [1, 2]}).status == 403, (method, path)
        elif not path.endswith("/events"):
            assert guarded(READ)(method, concrete(path)).status == 200, (method, path)

    assert guarded(READ).get("/streams/pump/state").body == state


def test_a_browser_may_send_the_token_as_a_password(guarded):
    word = base64.b64encode(f"anybody:{READ}".encode()).decode()

    assert guarded().get("/", Accept="text/html").headers["www-authenticate"].startswith("Basic")
    assert guarded().get("/streams").headers["www-authenticate"] == "Bearer"
    assert guarded().get("/streams", Authorization=f"Basic {word}").status == 200
    assert guarded().get("/streams", Authorization="Basic %%%").status == 401


@pytest.mark.parametrize("text", ["", "read short\n", "admin 0123456789abcdef\n", "read a b c\n", "# none\n"])
def test_a_file_without_good_tokens_is_refused(text):
    with pytest.raises(ValueError, match="token"):
        Tokens.of(text)


def test_another_sites_page_can_do_nothing(connect):
    client = connect()
    body = {"x": [1.0, 2.0]}

    assert client.post("/streams/pump/rows", body, Origin="http://evil.example").status == 403
    assert client.post("/streams/pump/rows", body, Sec_Fetch_Site="cross-site").status == 403
    assert client.get("/streams", Host="evil.example").status == 421
    assert client.post("/streams/pump/rows", body, Origin=f"http://127.0.0.1:{connect.port}").status == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/page/main.js", "/streams", "/nothing", "/page/..%2fapp.py"])
def test_every_answer_has_the_headers_that_protect(connect, path):
    headers = connect().get(path).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


BAD_NAMES = (
    ".. %2e%2e ..%2f..%2fetc%2fpasswd a%00b %00 a/b a%2fb %ff a%0ab -a .a %E2%80%AE ~ a;b CON: %20 a%20b "
    "';%20DROP%20TABLE%20streams;%20--"
)


@pytest.mark.parametrize("name", [*BAD_NAMES.split(), "a" * 101])
def test_a_name_cannot_leave_the_store(connect, name):
    client = connect()

    assert 400 <= client.put(f"/streams/{name}", SRNN).status < 500
    assert 400 <= client.post(f"/streams/{name}/rows", {"x": [1]}).status < 500
    assert [stream["name"] for stream in client.get("/streams").json["streams"]] == ["pump"]


def test_ten_thousand_malformed_bodies_teach_nothing(connect):
    chance, client = random.Random(0), connect()
    whole = b'[{"x": [1.5, -2e3], "y": 0.25, "id": "a"}, {"x": [null, 7], "y": null, "id": "b"}]'
    before = client.get("/streams/pump/state").body
    nested = [b"[" * 100_000, b'{"x":' * 30_000, b'{"x": [' + b"9" * 190_000]
    wrong = [*nested, b"\x00" * 1000, b"a,b,y\n" * 1000]
    types = (
        "application/json",
        "text/csv",
        "application/x-ndjson",
        "",
        "image/png",
        "text/csv;charset=utf-16",
    )
    for i in range(10_000):
        body = wrong[i] if i < len(wrong) else malformed(whole, chance)
        path = chance.choice(("rows", "ask", "tell"))
        answer = client.post(f"/streams/pump/{path}", body, Content_Type=chance.choice(types))
        assert 400 <= answer.status < 500, (body[:200], answer)
        assert b"Traceback" not in answer.body
        assert b"/" + b"elman/" not in answer.body

    assert client.get("/streams/pump/state").body == before


def malformed(whole, chance):
    """A body that is wrong in any case: an input is no number; then it is cut or mangled."""
    body = bytearray(whole.replace(b"1.5,", b'1.5, "three",'))
    for _ in range(chance.randrange(4)):
        at, kind = chance.randrange(len(body) + 1), chance.randrange(3)
        if kind == 0:
            body[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del body[at : at + chance.randrange(9)]
        else:
            body.insert(at, chance.choice(b'{}[]",:0eE-+\\\x00\xff'))
    return bytes(body[: chance.randrange(len(body) + 1)] if chance.random() < 0.3 else body)


def test_a_body_that_is_too_large_is_not_read(connect):
    client = connect()

    assert client.post("/streams/pump/rows", b" " * 200_001).status == 413
    with socket.create_connection(("127.0.0.1", connect.port)) as raw:
        raw.sendall(
            b"POST /streams/pump/rows HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"
        )
        raw.settimeout(30)
        try:
            for _ in range(100):
                raw.sendall(b"ffff\r\n" + b" " * 0xFFFF + b"\r\n")
        except OSError:
            pass  # it has closed the connection already
        else:
            assert b" 413 " in raw.recv(10_000)[:20]
    assert client.get("/health").status == 200


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET / HT",
        b"POST /streams/pump/rows HTTP/1.1\r\nhost: localhost\r\nx-a: ",
        b'POST /streams/pump/rows HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"x": [1',
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/1.1\r\n" + b"a" * 70_000,
    ],
)
def test_a_client_that_dawdles_is_answered_or_closed(connect, start):
    before = connect().get("/streams/pump/state").body
    with socket.create_connection(("127.0.0.1", connect.port)) as raw:
        raw.sendall(start)
        raw.settimeout(30)
        try:
            answer = raw.recv(10_000)
        except ConnectionError:
            answer = b""

    assert answer == b"" or answer[9:10] == b"4", answer
    assert connect().get("/streams/pump/state").body == before


def test_a_connection_closed_half_way_teaches_nothing(connect):
    before = connect().get("/streams/pump/state").body
    for cut in (10, 60, 100, 120):
        with socket.create_connection(("127.0.0.1", connect.port)) as raw:
            request = (
                b"POST /streams/pump/rows HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30\r\n\r\n"
                b'{"x": [1.0, 2.0], "y": 1.0   }'
            )
            raw.sendall(request[: min(cut, len(request) - 1)])
            raw.shutdown(socket.SHUT_WR)
    client = connect()
    for _ in range(3):  # the service may still be busy with those connections
        assert client.get("/streams/pump/state").body == before


def test_a_pipelined_flood_is_answered_in_order(connect):
    with socket.create_connection(("127.0.0.1", connect.port)) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50)
        raw.settimeout(30)
        got = b""
        while got.count(b"HTTP/1.1 200") < 50:
            got += raw.recv(100_000)


def test_errors_show_neither_tracebacks_nor_paths(connect):
    client = connect()
    answers = [
        client.put("/streams/x/state", b"elman\x00" + b"\xff" * 100),
        client.put("/streams/pump/state", b"elman\x00" + b"\xff" * 100),
        client.put("/streams/y", {"model": "SRNN-WOGD", "options": {"rate": {"a": 1}}}),
        client.put("/streams/y", {"model": "SRNN-WOGD", "options": {"loss": ["a"]}}),
        client("PATCH", "/streams/pump", {}),
        client.get("/nothing"),
    ]

    for answer in answers:
        assert 400 <= answer.status < 500
        assert "Traceback" not in answer.body.decode()
        assert ".py" not in answer.body.decode()


def test_a_slow_client_does_not_hold_up_others(connect):
    slow = [socket.create_connection(("127.0.0.1", connect.port)) for _ in range(50)]
    for raw in slow:
        raw.sendall(b"POST /streams/pump/rows HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n")

    assert connect().get("/health").status == 200
    for raw in slow:
        raw.close()


def test_an_unknown_method_or_protocol_is_refused(connect):
    client = connect()
    for method in ("TRACE", "CONNECT", "BREW"):
        with contextlib.suppress(HTTPException):  # or the connection is closed
            assert 400 <= client(method, "/streams/pump/rows").status < 500
    assert client.get("/health").status == 200


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"X":[' + b",".join([b"[]"] * 60_000) + b"]}"),
        ("text/csv", b"a,y\n" + b"1,2\n" * 49_000),
        ("application/x-ndjson", b'{"x":[]}\n' * 22_000),
    ],
)
def test_rows_that_are_short_to_write_and_much_to_hold_are_refused(tmp_path, content_type, body):
    limits = Limits(body_bytes=200_000, rows=20_000)
    with served(tmp_path / "store.db", limits=limits) as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        answer = client.post("/streams/pump/rows", body, Content_Type=content_type)

    assert answer.status == 413
    assert "send them in parts" in answer.json["error"]


def test_rows_that_leave_out_most_of_many_inputs_or_targets_are_refused(tmp_path):
    with served(tmp_path / "store.db", limits=Limits(cells=100_000)) as connect:
        client = connect()
        client.put("/streams/pump")
        assert client.post("/streams/pump/rows", {"x": {f"f{i}": 1.0 for i in range(200)}}).status == 200
        inputs = client.post("/streams/pump/rows", {"X": [{}] * 5_000})
        targets = client.post("/streams/pump/rows", {"X": [{}] * 400, "y": [*[None] * 399, [0.0] * 90]})

    assert (inputs.status, targets.status) == (413, 413)


def test_text_of_any_length_among_numbers_takes_no_more_than_itself(tmp_path):
    with served(tmp_path / "store.db") as connect:
        client = connect()
        client.put("/streams/pump", SRNN)
        answer = client.post("/streams/pump/rows", {"X": [["a" * 1_000_000], *[["b"]] * 50_000]})

    assert answer.status == 200


def said(connect, data):
    """What is answered to bytes before the connection is closed, nothing if it is just closed."""
    with socket.create_connection(("127.0.0.1", connect.port), timeout=30) as connection:
        answer = b""
        with contextlib.suppress(OSError):
            connection.sendall(data)
        with contextlib.suppress(OSError):
            while part := connection.recv(1 << 16):
                answer += part
    return answer


HEAD = b"GET /health HTTP/1.1\r\nhost: localhost\r\n"


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"x: y\r\n" * 20_000 + b"\r\n",
        HEAD + b"x: " + b"y" * 100_000 + b"\r\n\r\n",
        HEAD + b"x: " + b"y" * 1_000_000,
        (HEAD + b"\r\n") * 1_000,
    ],
    ids=["many headers", "a long header", "a header without end", "requests that wait for no answer"],
)
def test_more_than_a_request_can_be_is_refused_or_cut_off(connect, data):
    answer = said(connect, data)

    assert answer.count(b" 200 OK") <= 110
    assert answer.endswith(b"Invalid HTTP request received.") or b" 200 OK" not in answer
    assert connect().get("/health").status == 200


class Watching:
    """A service to whom only its watchers matter."""

    def __init__(self, limits):
        self.limits, self.watchers = limits, 0


async def endless():
    while True:
        yield b"data: 1\n\n"


def test_a_watcher_that_takes_nothing_is_given_up():
    service = Watching(Limits(watcher_seconds=0.01))
    sent = []

    async def stuck(message):
        sent.append(message["type"])
        if len(sent) > 1:
            await asyncio.Event().wait()

    async def waiting():
        return await asyncio.Event().wait()

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    asyncio.run(Watched(service, endless())(scope, waiting, stuck))

    assert sent == ["http.response.start", "http.response.body"]
    assert service.watchers == 0


def test_too_many_watchers_are_told_to_come_again(tmp_path):
    with served(tmp_path / "store.db", limits=Limits(watchers=1)) as connect:
        watching = socket.create_connection(("127.0.0.1", connect.port), timeout=30)
        watching.sendall(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert watching.recv(100).startswith(b"HTTP/1.1 200")
        refused = connect().get("/events")
        watching.close()

    assert (refused.status, refused.headers["retry-after"]) == (429, "10")
