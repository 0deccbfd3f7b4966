import asyncio
import contextlib
import itertools

import pytest

from inferenceversion_operator.reconcile.queue import Queue


class Worker:
    """Counts the turns of each key; a turn lasts until it is let go."""

    def __init__(self):
        self.turns = []
        self.running = set()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, key):
        assert key not in self.running, "a key is worked on twice at once"
        self.running.add(key)
        self.turns.append(key)
        await self.gate.wait()
        self.running.discard(key)


@contextlib.asynccontextmanager
async def running(worker, workers=2):
    queue = Queue(worker, workers)
    task = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 (the condition is one of the code under test)
            await asyncio.sleep(0.001)


async def test_a_key_added_many_times_is_worked_on_once():
    worker = Worker()
    async with running(worker) as queue:
        for _ in range(100):
            queue.add("a")
        await until(lambda: worker.turns)
        await until(lambda: queue.depth == 0)
        assert worker.turns == ["a"]


async def test_a_key_added_during_its_turn_gets_exactly_one_more():
    worker = Worker()
    worker.gate.clear()
    async with running(worker) as queue:
        queue.add("a")
        await until(lambda: worker.turns == ["a"])
        queue.add("a")
        queue.add("a")
        worker.gate.set()
        await until(lambda: worker.turns == ["a", "a"])
        await until(lambda: queue.depth == 0)
        assert worker.turns == ["a", "a"]


async def test_a_slow_key_does_not_hold_up_others():
    worker = Worker()
    worker.gate.clear()
    async with running(worker, workers=2) as queue:
        queue.add("slow")
        await until(lambda: worker.turns)
        queue.add("quick")
        await until(lambda: "quick" in worker.turns)


async def test_a_delayed_key_waits_and_an_earlier_request_wins():
    worker = Worker()
    async with running(worker) as queue:
        queue.add("later", 60.0)
        queue.add("sooner", 60.0)
        queue.add("sooner", 0.01)
        await until(lambda: worker.turns)
        assert worker.turns == ["sooner"]
        assert queue.depth == 1


async def test_a_delay_during_the_turn_is_kept():
    worker = Worker()
    worker.gate.clear()
    async with running(worker) as queue:
        queue.add("a")
        await until(lambda: worker.turns)
        queue.add("a", 0.01)
        worker.gate.set()
        await until(lambda: len(worker.turns) == 2)


async def test_keys_that_are_due_are_served_in_order():
    worker = Worker()
    worker.gate.clear()
    async with running(worker, workers=1) as queue:
        for key in "abcde":
            queue.add(key)
        worker.gate.set()
        await until(lambda: len(worker.turns) == 5)
        assert worker.turns == list("abcde")


async def test_retries_double_up_to_a_minute_and_success_starts_over():
    worker = Worker()
    worker.gate.clear()
    async with running(worker) as queue:
        delays = [queue.retry("a") for _ in range(15)]
        assert 0.1 <= delays[0] <= 0.2
        assert 0.8 <= delays[3] <= 1.6
        assert all(30.0 <= delay <= 60.0 for delay in delays[9:])
        queue.succeeded("a")
        assert queue.retry("a") <= 0.2
        assert queue.retry("a", at_least=7.0) >= 7.0


async def test_after_a_day_of_failures_the_backoff_is_still_a_number():
    queue = Queue(Worker(), 1)
    for _ in range(1100):  # 2.0 ** 1024 is none
        delay = queue.retry("a")
    assert 30 <= delay <= 60


async def test_a_turn_that_raises_ends_neither_the_others_nor_its_key():
    turns = []

    async def work(key):
        turns.append(key)
        if key == "bad":
            raise OverflowError("date value out of range")

    async with running(work) as queue:
        queue.add("bad")
        queue.add("good")
        await until(lambda: turns.count("bad") == 2)
        assert "good" in turns


@pytest.fixture
def pace(monkeypatch):
    """Make the queue's settling time and pace short enough for a test, and return both."""
    monkeypatch.setattr("inferenceversion_operator.reconcile.queue._SETTLE_S", 0.02)
    monkeypatch.setattr("inferenceversion_operator.reconcile.queue._PACE_S", 0.2)
    return 0.02, 0.2


async def test_what_a_person_asks_goes_before_what_waits(pace):
    worker = Worker()
    worker.gate.clear()
    async with running(worker, workers=1) as queue:
        for key in "abcd":
            queue.add(key)
        queue.ask("z")
        worker.gate.set()
        await until(lambda: len(worker.turns) == 5)
        assert worker.turns == list("zabcd")


async def test_hints_that_come_together_are_one_turn(pace):
    worker = Worker()
    async with running(worker) as queue:
        for _ in range(10):
            queue.hint("a")
            await asyncio.sleep(0)
        assert worker.turns == []
        await until(lambda: worker.turns)
        assert queue.depth == 0


async def test_turns_that_nobody_asked_for_are_a_pace_apart_and_what_is_asked_is_not(pace):
    _, rest = pace
    loop = asyncio.get_running_loop()
    times = []

    async def work(key):
        times.append(loop.time())
        if len(times) < 3:
            queue.hint(key)  # each own write comes back as news

    async with running(work) as queue:
        queue.ask("a")
        await until(lambda: len(times) == 3)
        assert min(after - before for before, after in itertools.pairwise(times)) >= rest * 0.9
        queue.ask("a")
        await until(lambda: len(times) == 4)
        assert times[3] - times[2] < rest / 2


async def test_keys_that_rested_are_forgotten(pace):
    worker = Worker()
    async with running(worker) as queue:
        for n in range(50):
            queue.ask(f"{n}")
        await until(lambda: len(worker.turns) == 50)
        await asyncio.sleep(pace[1])
        queue.ask("last")
        await until(lambda: len(worker.turns) == 51)
        await until(lambda: list(queue._rests_until) == ["last"])


async def test_more_keys_than_workers_are_all_served_and_no_more_at_once():
    most = 0
    busy = 0

    async def work(_key):
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1

    async with running(work, workers=3) as queue:
        for n in range(100):
            queue.add(f"{n}")
        await until(lambda: queue.depth == 0)
    assert most == 3
