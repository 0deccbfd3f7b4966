"""Steps run in an order their dependencies allow, and say which of how many is done."""

import io
import threading

import pytest

from dev.shell import DevError
from dev.steps import Step, done_line, run_steps, running_line


def test_progress_says_which_of_how_many_and_how_long():
    assert done_line(3, 14, "envoy-gateway v1.9.1", 159.3, worked=True) == "[3/14] envoy-gateway v1.9.1 ... 159 s"
    assert done_line(1, 2, "kind v0.33.0", 0.1, worked=False) == "[1/2] kind v0.33.0 ... ready"
    assert running_line(2, 14, [("a", 31.0), ("b", 5.0)]) == "[2/14] busy with a (31 s so far), b (5 s so far)"


def test_a_step_starts_after_what_it_waits_for():
    order = []
    note = lambda name: lambda: order.append(name) is None  # noqa: E731
    out = io.StringIO()
    run_steps([Step("a", note("a")), Step("b", note("b"), ("a",)), Step("c", note("c"), ("a", "b"))], out)
    assert order == ["a", "b", "c"]
    assert out.getvalue().splitlines()[-1].startswith("[3/3] c ... ")


def test_independent_steps_run_beside_each_other():
    met = threading.Barrier(2, timeout=5)
    run_steps([Step("a", lambda: met.wait() >= 0), Step("b", lambda: met.wait() >= 0)], io.StringIO())


def test_a_failure_names_the_step_and_stops_what_follows():
    def fail():
        raise DevError("no space")

    late = []
    with pytest.raises(DevError, match="first: no space"):
        run_steps([Step("first", fail), Step("second", lambda: late.append(1) is None, ("first",))], io.StringIO())
    assert late == []


def test_waiting_for_a_later_step_is_a_mistake():
    with pytest.raises(ValueError, match="not before it"):
        run_steps([Step("a", lambda: True, ("b",)), Step("b", lambda: True)], io.StringIO())
