# SPDX-License-Identifier: MIT
"""Run inside a virtual machine by test_poc.py: the Python package, the commands and the scripts on a real program,
through the real holder. Prints "passed" at its end."""
import json
import os
import signal
import subprocess
import sys
import time

BIN = os.environ["GP_BIN"]
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
GPREEMPT = os.path.join(BIN, "gpreempt")
TRAINER = os.path.join(os.path.dirname(BIN), "examples", "offline_trainer")
SCRIPTS = os.path.join(SOURCE, "scripts", "poc")
LIMIT = 120
GROUP = "poc-test"
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "python"))

from gpreempt import Error, LeaseLost, Mechanism, QueueState, Target  # noqa: E402


def until(condition, what):
    end = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, what
        time.sleep(0.02)


def queues_of(pid):
    """Its queues as a new connection sees them: a young process has none, or no agent yet."""
    try:
        with Target(pid) as target:
            queues = target.queues()
            return len(queues) >= 3 and target.info().mechanism == Mechanism.KFD_AGENT and queues
    except Error:
        return None


def launched(target):
    return sum(queue.read_index or 0 for queue in target.queues())


def gpreempt(*arguments):
    return subprocess.run([GPREEMPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT)


def check_package(pid):
    target = Target(pid)
    with target.suspended(lease=LIMIT, limit=LIMIT) as suspension:
        assert suspension.queues >= 3, suspension.queues
        assert all(queue.state == QueueState.SUSPENDED for queue in target.queues())
        assert target.info().owner_pid == os.getpid()
        held = json.loads(gpreempt("status", "--json").stdout)["holds"]
        assert [(hold["pid"], hold["owner_pid"]) for hold in held] == [(pid, os.getpid())], held
        before = launched(target)
    assert not target.info().suspended
    until(lambda: launched(target) > before, "the program did not go on")


def check_queues(pid):
    """One queue of it, and only that."""
    target = Target(pid)
    one = target.queues()[-1].kfd_id
    with target.suspended([one], lease=LIMIT, limit=LIMIT) as suspension:
        assert suspension.queues == 1, suspension.queues
        stopped = [queue.kfd_id for queue in target.queues() if queue.state == QueueState.SUSPENDED]
        assert stopped == [one], stopped
        try:
            Target(pid).suspend([4000000])
        except Error as error:
            assert error.errno == 2, error
        else:
            raise AssertionError("a queue that does not exist was suspended")
    assert all(queue.state == QueueState.RUNNING for queue in target.queues())


def check_group(pid):
    with Target(GROUP) as group:
        with group.suspended(lease=LIMIT, limit=LIMIT):
            assert group.info().process_count == 1, group.info()
            assert all(queue.state == QueueState.SUSPENDED for queue in Target(pid).queues())
        assert not group.info().suspended
        assert group.latency().processes == 1


def check_priority_and_share(pid):
    done = gpreempt("renice", "online", str(pid))
    assert (done.returncode, done.stdout) == (0, f"process {pid}: priority 2000\n"), done
    with Target(pid) as target:
        assert target.info().priority == 2000, target.info()
        target.share(0.5)
        target.share(1)


def check_nesting(pid):
    """Two owners: it runs when both have let go."""
    first, second = Target(pid), Target(pid)
    first.suspend(lease=LIMIT, limit=LIMIT)
    second.suspend(lease=LIMIT, limit=LIMIT)
    assert first.info().owner_count == 2, first.info()
    first.resume()
    assert second.info().suspended and not first.info().mine
    assert second.resume() >= 3
    assert not first.info().suspended


def check_hints():
    """The agent in a program that was started with `gpreempt run` takes them."""
    code = "import ctypes, gpreempt; ctypes.CDLL(None).gpreempt_agent_request; gpreempt.request(0.01).__enter__()"
    done = subprocess.run([GPREEMPT, "run", "--", sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT, env=dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "python")))
    assert done.returncode == 0, done.stderr


def check_release(pid):
    try:
        with Target(pid).suspended(lease=LIMIT, limit=LIMIT):
            done = gpreempt("release", "--all")
            assert (done.returncode, done.stdout) == (0, "1 suspension ended\n"), done
            with Target(pid) as other:
                assert not other.info().suspended
    except LeaseLost:
        return
    raise AssertionError("the lost lease was not raised")


def check_resume(pid):
    keeper = subprocess.Popen([GPREEMPT, "suspend", str(pid), "--json", "--lease", "1m"], stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(keeper.stdout.readline())["event"] == "suspended"
        done = gpreempt("resume", str(pid))
        assert done.returncode == 0, done
        assert json.loads(keeper.communicate(timeout=LIMIT)[0])["event"] == "resumed"
        assert keeper.returncode == 0
    finally:
        keeper.kill()
        keeper.wait()


def check_simple(pid):
    done = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "test_preemption_simple.py"), str(pid), "0.01"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    assert done.returncode == 0, done
    assert "suspended by" in done.stdout and "resumed" in done.stdout, done.stdout


def check_hung_holder(pid):
    keeper = subprocess.Popen([GPREEMPT, "suspend", str(pid), "--json", "--lease", "1h"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        assert json.loads(keeper.stdout.readline())["event"] == "suspended"
        os.kill(json.loads(gpreempt("status", "--json").stdout)["holder"], signal.SIGSTOP)
        done = gpreempt("release", "--all", "--timeout", "100ms")
        assert done.returncode == 0 and "did not answer and was killed" in done.stderr, done
        assert json.loads(keeper.communicate(timeout=LIMIT)[0])["event"] == "lease_lost"
        assert keeper.returncode == 1
    finally:
        keeper.kill()
        keeper.wait()
    # With a holder of its own again.
    target = Target(pid)
    assert not target.info().suspended
    before = launched(target)
    until(lambda: launched(target) > before, "the program did not go on")


def check_death(pid, trainer):
    target = Target(pid)
    target.suspend(lease=LIMIT, limit=LIMIT)
    trainer.send_signal(signal.SIGKILL)
    trainer.wait(LIMIT)
    try:
        until(lambda: not target.queues(), "queues of a dead process")
    except Error as error:
        assert error.errno in (3, 19), error  # no such process, no device
    assert gpreempt("status", str(pid)).returncode == 1


def main():
    trainer = subprocess.Popen([GPREEMPT, "run", "--class", "offline", "--group", GROUP, "--", TRAINER, "--seconds", "600"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: queues_of(trainer.pid), "the program has no queues")
        check_package(trainer.pid)
        check_queues(trainer.pid)
        check_group(trainer.pid)
        check_priority_and_share(trainer.pid)
        check_nesting(trainer.pid)
        check_hints()
        check_release(trainer.pid)
        check_resume(trainer.pid)
        check_simple(trainer.pid)
        check_hung_holder(trainer.pid)
        check_death(trainer.pid, trainer)
    finally:
        trainer.kill()
        trainer.wait()
    print("passed")


main()
