"""What the scripts of all clients for Python share: where the server is, and checks that are counted."""

import atexit
import os
import re

URL = os.environ["PONDER_URL"]
TOKEN = os.environ.get("PONDER_TOKEN") or "any"

QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
THOUGHT = "France is a country in Europe."

SECRETS = re.compile(r"run_finished|turn-\d+-\d+|You are Ponder|thr_[0-9A-Z]{26}|\bsk-[a-z0-9]")

_checks = 0


@atexit.register
def _told():
    print(f"checks: {_checks}")


def check(got, want=True):
    global _checks
    _checks += 1
    assert got == want, f"{got!r}, want {want!r}"


def fails(kind, f):
    """Checks that a call fails in a way, and returns how."""
    global _checks
    _checks += 1
    try:
        f()
    except kind as e:
        return e
    raise AssertionError(f"it does not fail with {kind.__name__}")


def clean(sent):
    check(SECRETS.search(sent), None)


def run(names):
    """Calls all functions that begin with test_."""
    for name, f in list(names.items()):
        if name.startswith("test_"):
            print(name, flush=True)
            f()
