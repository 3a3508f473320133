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
    assert names(path.parent) == {"state", ".state.lock", ".state.tmp"}

    with StateFile(path) as file:
        assert file.read() == b"kept"
        assert names(path.parent) == {"state", ".state.lock"}


def test_a_lock_that_its_holder_has_removed_meanwhile_is_no_lock(path, monkeypatch):
    holder = StateFile(path).__enter__()
    locked = lock._locked

    def after_the_holder_has_gone(descriptor):
        monkeypatch.setattr(lock, "_locked", locked)
        holder.__exit__()
        return locked(descriptor)

    monkeypatch.setattr(lock, "_locked", after_the_holder_has_gone)
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


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(path, victim):
    with StateFile(path) as file:
        (path.parent / ".state.tmp").symlink_to(victim)
        with pytest.raises(OSError, match="cannot save: File exists"):
            file.write(b"new")
        file.write(b"newer")

    assert victim.read_bytes() == b"precious"
    assert path.read_bytes() == b"newer"
