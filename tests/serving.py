"""A service for tests, in a thread of this process or in one of its own, and clients that speak HTTP."""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
from dataclasses import dataclass

from elman.serve.app import Settings
from elman.serve.limits import Limits
from elman.serve.server import Server, bound
from elman.serve.store import Store


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """One connection that is kept open; it is opened again if it breaks."""

    def __init__(self, port, token=None):
        self.port, self.token = port, token
        self._connection = None

    def __call__(self, method, path, content=None, timeout=60, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if content is not None and not isinstance(content, bytes):
            content = json.dumps(content).encode()
            headers.setdefault("Content-Type", "application/json")
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            self._connection.request(method, path, content, headers)
            response = self._connection.getresponse()
            body = response.read()
        except BaseException:
            self.close()
            raise
        if response.getheader("connection") == "close":
            self.close()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, body)

    def get(self, path, **headers):
        return self("GET", path, **headers)

    def put(self, path, content=None, **headers):
        return self("PUT", path, content, **headers)

    def post(self, path, content, **headers):
        return self("POST", path, content, **headers)

    def delete(self, path, **headers):
        return self("DELETE", path, **headers)

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Clients:
    """Makes clients of a service, and closes them at the end."""

    def __init__(self, port):
        self.port = port
        self._made = []

    def __call__(self, token=None):
        self._made.append(Client(self.port, token))
        return self._made[-1]

    def close(self):
        for client in self._made:
            client.close()


@contextlib.contextmanager
def served(store, *, tokens=None, limits=None, beside=None, sync="normal"):
    """A service in a thread; yields what makes clients. It ends as it does at SIGTERM."""
    server = Server(Settings(Store(store, sync), limits or Limits(), tokens, beside=beside))
    listening = bound("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    clients = Clients(listening.getsockname()[1])
    try:
        yield clients
    finally:
        clients.close()
        server.should_exit = True
        thread.join()
        listening.close()


class Process:
    """A service in a process of its own, that can be killed."""

    def __init__(self, store, *options):
        command = [sys.executable, "-m", "elman", "serve", "--port", "0", "--store", str(store), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.first_line = self.process.stderr.readline()
        self.port = int(self.first_line.split(":")[2])

    def kill(self):
        self.process.kill()
        self._end()

    def terminate(self):
        self.process.terminate()
        self._end()
        return self.process.returncode

    def _end(self):
        self.process.wait()
        self.process.stderr.close()
