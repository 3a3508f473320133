"""State files: one holder at a time, whole at any moment."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from elman.runs import StateFile, lock


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def names(folder):
    return {each.name for each in folder.iterdir()}


def test_what_was_written_is_read_and_nothing_else_is_left(path):
    with StateFile(path) as file:
        assert not file.exists()
        file.write(b"old")
        file.write(b"new")
        assert (file.exists(), file.read()) == (True, b"new")

    assert names(path.parent) == {"state"}


@pytest.mark.parametrize("way", ["state", "link", "folder/../state"])
def test_a_second_holder_is_refused_by_whatever_way_it_comes(path, monkeypatch, way):
    (path.parent / "folder").mkdir()
    (path.parent / "link").symlink_to(path)
    monkeypatch.chdir(path.parent)
    with StateFile(path), pytest.raises(BlockingIOError, match=f"in use by process {os.getpid()}: '{way}'"):
        StateFile(way).__enter__()


def test_after_the_holder_has_gone_the_file_is_free(path):
    with StateFile(path):
        pass
    with StateFile(path) as file:
        file.write(b"mine")

    assert path.read_bytes() == b"mine"


def test_a_holder_on_another_machine_is_named_with_it(path, monkeypatch):
    with StateFile(path):
        monkeypatch.setattr("platform.node", lambda: "other")
        with pytest.raises(BlockingIOError, match=r"in use by process \d+ on "):
            StateFile(path).__enter__()


def test_a_holder_that_was_killed_leaves_no_lock_and_its_leftovers_are_removed(path):
    code = (
        "import os, signal, sys; from elman.runs import StateFile\n"
        "with StateFile(sys.argv[1]) as file:\n"
        "    file.write(b'kept')\n"
        "    os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    file.write(b'lost')\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert killed.returncode == -9
    (left,) = names(path.parent) - {"state", ".state.lock"}
    assert left.startswith(".state.")

    with StateFile(path) as file:
        assert file.read() == b"kept"
        assert names(path.parent) == {"state", ".state.lock"}


def test_a_lock_that_its_holder_has_removed_meanwhile_is_no_lock(path, monkeypatch):
    holder = StateFile(path).__enter__()
    locked = lock.take

    def after_the_holder_has_gone(descriptor):
        monkeypatch.setattr(lock, "take", locked)
        holder.__exit__()
        return locked(descriptor)

    monkeypatch.setattr(lock, "take", after_the_holder_has_gone)
    with StateFile(path), pytest.raises(BlockingIOError):
        StateFile(path).__enter__()


def test_of_many_that_come_and_go_one_at_a_time_holds_it(path):
    inside, most, taken = [], [], []

    def come_and_go():
        while len(taken) < 200:
            try:
                with StateFile(path):
                    inside.append(1)
                    most.append(len(inside))
                    taken.append(1)
                    inside.pop()
            except BlockingIOError:
                pass

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert max(most) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with StateFile(path) as file:
        file.write(b"old")
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="cannot save: No space left on device"):
            file.write(b"new")
        assert names(path.parent) == {"state", ".state.lock"}

    assert path.read_bytes() == b"old"


def test_writing_through_a_symbolic_link_keeps_the_link(path):
    link = path.parent / "link"
    link.symlink_to(path)
    with StateFile(link) as file:
        file.write(b"new")

    assert link.is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_state_keeps_its_mode(path, mode):
    path.write_bytes(b"old")
    path.chmod(mode)
    with StateFile(path) as file:
        file.write(b"new")

    assert path.stat().st_mode & 0o777 == mode


def test_the_lock_is_for_its_owner_only(path):
    with StateFile(path):
        assert (path.parent / ".state.lock").stat().st_mode & 0o777 == 0o600


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_bytes(b"precious")
    return path


def test_a_link_in_the_place_of_the_lock_is_refused(path, victim):
    (path.parent / ".state.lock").symlink_to(victim)
    with pytest.raises(OSError, match="cannot save"):
        StateFile(path).__enter__()

    assert victim.read_bytes() == b"precious"


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(path, victim, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "0" * 16)
    with StateFile(path) as file:
        (path.parent / f".state.{'0' * 16}.tmp").symlink_to(victim)
        with pytest.raises(OSError, match="cannot save: File exists"):
            file.write(b"new")

    assert victim.read_bytes() == b"precious"
    assert not path.exists()


def test_only_the_leftovers_of_this_state_are_removed(path):
    of_another, own = path.parent / f".state.b.{'1' * 16}.tmp", path.parent / f".state.{'1' * 16}.tmp"
    foreign = path.parent / ".state.tmp"
    for each in (of_another, own, foreign):
        each.write_bytes(b"")
    with StateFile(path):
        assert names(path.parent) == {of_another.name, foreign.name, ".state.lock"}


def test_a_hard_link_in_the_place_of_the_lock_is_refused(path, victim):
    (path.parent / ".state.lock").hardlink_to(victim)
    with pytest.raises(OSError, match=r"\.state\.lock is in the way: elman did not make it"):
        StateFile(path).__enter__()

    assert victim.read_bytes() == b"precious"


def test_a_file_of_someone_else_in_the_place_of_the_lock_is_refused(path):
    (path.parent / ".state.lock").write_bytes(b"[[package]]\n")
    with pytest.raises(OSError, match="is in the way: elman did not make it"):
        StateFile(path).__enter__()

    assert (path.parent / ".state.lock").read_bytes() == b"[[package]]\n"


def test_what_is_no_regular_file_is_not_replaced(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="cannot save: it is not a regular file"):
        StateFile(path).__enter__()

    assert path.is_fifo()


def test_a_loop_of_links_is_an_error_of_the_system(path):
    path.symlink_to(path)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        StateFile(path).__enter__()


def test_without_the_lock_nothing_is_written(path):
    file = StateFile(path)
    with pytest.raises(RuntimeError, match="is not held by this process"):
        file.write(b"new")
    with file:
        pass
    with pytest.raises(RuntimeError, match="is not held by this process"):
        file.write(b"new")

    assert not path.exists()


FORK = """
import os, sys
from elman.runs import StateFile
with StateFile(sys.argv[1]) as file:
    file.write(b"of the parent")
    child = os.fork()
    if child == 0:
        try:
            file.write(b"of the child")
        except RuntimeError:
            file.__exit__()
            os._exit(0 if os.path.exists(sys.argv[2]) else 1)
        os._exit(2)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_neither_writes_nor_unlocks_what_its_parent_holds(path):
    lock_file = path.parent / ".state.lock"
    finished = subprocess.run([sys.executable, "-c", FORK, path, lock_file], check=False)

    assert finished.returncode == 0
    assert path.read_bytes() == b"of the parent"


def test_a_child_that_lives_on_does_not_keep_the_lock(path):
    code = (
        "import os, sys; from elman.runs import StateFile\n"
        "file = StateFile(sys.argv[1]).__enter__()\n"
        "if os.fork() == 0: os.write(1, b'.'), sys.stdin.read()\n"
        "os._exit(0)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as parent:
        assert parent.stdout.read(1) == b"."
        assert parent.wait(timeout=30) == 0
        with StateFile(path) as file:  # the child is there until its standard input is closed
            file.write(b"mine")
        parent.stdin.close()

    assert path.read_bytes() == b"mine"


WRITER = """
import sys
from elman.runs import StateFile, lock
lock.take = lambda _: True  # as on a disk that has no locks
with StateFile(sys.argv[1]) as file:
    for i in range(150):
        try:
            file.write(sys.argv[2].encode() * 200_000)
        except FileNotFoundError:
            pass
"""


def test_readers_see_whole_states_even_of_two_writers_without_a_lock(path):
    path.write_bytes(b"a" * 200_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, letter]) for letter in "bc"]
    torn = 0
    while any(writer.poll() is None for writer in writers):
        found = path.read_bytes()
        torn += len(found) != 200_000 or len(set(found)) != 1

    assert [writer.returncode for writer in writers] == [0, 0]
    assert torn == 0


CALLS = (
    "open",
    "fdopen",
    "fsync",
    "fchmod",
    "fstat",
    "stat",
    "replace",
    "close",
    "unlink",
    "ftruncate",
    "write",
)


class Faults:
    """Every call of the operating system that saving makes; the n-th of them fails."""

    def __init__(self, monkeypatch, fail_at):
        self.count = 0
        for name in CALLS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name), fail_at))

    def counted(self, call, fail_at):
        def counting(*arguments, **options):
            self.count += 1
            if self.count == fail_at:
                raise OSError(errno.EIO, "Input/output error")
            return call(*arguments, **options)

        return counting


def saved(path):
    with StateFile(path) as file:
        file.write(b"new")


def number_of_calls(path):
    with pytest.MonkeyPatch.context() as monkeypatch:
        faults = Faults(monkeypatch, fail_at=0)
        saved(path)
        return faults.count


def test_whatever_call_fails_the_state_is_the_old_or_the_new_and_the_next_save_works(path):
    path.write_bytes(b"old")
    calls = number_of_calls(path)
    assert calls > 10
    failed = 0
    for fail_at in range(1, calls + 1):
        path.write_bytes(b"old")
        with pytest.MonkeyPatch.context() as monkeypatch:
            Faults(monkeypatch, fail_at)
            try:
                saved(path)
            except OSError:
                failed += 1
                assert path.read_bytes() in {b"old", b"new"}
            else:
                assert path.read_bytes() == b"new"
        lock._let_go_in_child()  # a descriptor whose closing failed, as at the end of the process
        saved(path)
        assert path.read_bytes() == b"new"
        assert names(path.parent) == {"state"}
    assert failed > calls // 2
