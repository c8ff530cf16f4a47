# SPDX-License-Identifier: MIT
"""What the integration tests share: running the built programs, and the fixtures."""
import json
import os
import subprocess

BIN = os.environ["GP_BIN"]
FIXTURES = os.environ["GP_FIXTURES"]
GPREEMPT = os.path.join(BIN, "gpreempt")
QUEUE_FINDER = os.path.join(BIN, "queue_finder")


def fixture(*parts):
    return os.path.join(FIXTURES, *parts)


def run(*command, text=True, **options):
    """Runs a program in the C locale unless told otherwise; nothing is shown."""
    env = dict(os.environ, LC_ALL="C.UTF-8")
    env.pop("LANGUAGE", None)
    env.update(options.pop("env", {}))
    return subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                          env=env, timeout=60, **options)


def gpreempt(*arguments, **options):
    return run(GPREEMPT, *arguments, **options)


def gpreempt_json(*arguments, **options):
    done = gpreempt(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
