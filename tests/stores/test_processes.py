"""Who a process is, and whether it still runs (spec 8.10)."""

import os
import subprocess
import sys

import pytest

from tests.stores.records import process_start
from webapp.stores import processes
from webapp.stores.processes import ProcessIdentity, this_process


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def token_of(identity, pid=None, started=None, host_key=None):
    return f"holder/{host_key or identity.host_key}/{pid or identity.pid}/{started or identity.started}/0192"


def test_this_process_runs():
    me = this_process()
    assert me.pid == os.getpid()
    assert "/" not in me.host_key
    assert not me.is_gone(token_of(me))


def test_a_process_is_known_by_its_number_and_start(child):
    me = this_process()
    started = process_start(child.pid)
    token = token_of(me, child.pid, started)
    assert not me.is_gone(token)
    # another process got the number
    assert me.is_gone(token_of(me, child.pid, "1"))
    child.kill()
    child.wait()
    assert me.is_gone(token)


def test_a_zombie_is_gone(child):
    me = this_process()
    started = process_start(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert me.is_gone(token_of(me, child.pid, started))


def test_nothing_is_said_of_other_hosts():
    me = this_process()
    assert not me.is_gone(token_of(me, pid=2**22 + 1, host_key="elsewhere"))
    assert not me.is_gone("nonsense")
    assert not me.is_gone(token_of(me, pid="x"))
    assert ProcessIdentity(host_key="h", pid=1, started="2").text == "h/1/2"


def test_a_holder_id_may_hold_slashes():
    me = this_process()
    assert me.is_gone(f"eu/west/{me.host_key}/{2**22 + 1}/1/0192")


def test_a_process_that_the_system_does_not_show_is_not_gone(child, monkeypatch):
    # As with a hidden /proc, or when this process has no file descriptor left.
    me = this_process()
    token = token_of(me, child.pid, process_start(child.pid))
    monkeypatch.setattr(processes, "_read", lambda path: "")
    assert not me.is_gone(token)
    child.kill()
    child.wait()
    assert me.is_gone(token)


def test_a_process_that_did_not_know_its_start_is_known_by_its_number(child):
    me = this_process()
    assert not me.is_gone(f"holder/{me.host_key}/{child.pid}//0192")
