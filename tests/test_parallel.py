"""Work in several threads of Python: order, errors, work within work, and forked processes."""

import os
import threading

import pytest

from suffice import _core
from suffice.core.parallel import in_threads

ENTRIES = 1 << 30  # so many that threads are worth it


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setenv("SUFFICE_NUM_THREADS", "4")


def test_results_come_in_the_order_of_the_items_whatever_thread_they_are_from():
    seen = set()

    def square(i):
        seen.add(threading.get_ident())
        return i * i

    met = threading.Barrier(4)
    in_threads(lambda _: met.wait(10), range(4), ENTRIES)  # four threads are there at a time
    assert in_threads(square, range(1000), ENTRIES) == [i * i for i in range(1000)]
    assert threading.get_ident() in seen


def test_the_error_of_the_first_item_that_fails_is_raised_and_threads_go_on_working():
    met = threading.Barrier(4)

    def fail(i):
        met.wait(10)
        if i:
            raise ValueError(str(i))

    with pytest.raises(ValueError, match="1"):
        in_threads(fail, range(4), ENTRIES)
    assert in_threads(str, range(3), ENTRIES) == ["0", "1", "2"]


def test_work_may_ask_for_threads_itself_at_any_depth():
    def total(depth):
        return 1 if depth == 0 else sum(in_threads(total, [depth - 1] * 5, ENTRIES))

    assert total(4) == 5**4


def test_work_within_work_finds_threads_while_all_others_are_taken():
    every = threading.Barrier(4)

    def with_another(_):
        every.wait(10)
        met = threading.Barrier(2)
        in_threads(lambda _: met.wait(10), range(2), ENTRIES)

    in_threads(with_another, range(4), ENTRIES)


def test_work_in_threads_gets_twice_its_share_of_all_threads_and_gives_it_back():
    def allowed(_):
        return _core.max_threads()

    assert in_threads(allowed, range(4), ENTRIES) == [2] * 4
    assert in_threads(allowed, range(3), ENTRIES) == [3] * 3
    assert in_threads(allowed, range(2), ENTRIES) == [4] * 2
    assert in_threads(lambda _: in_threads(allowed, range(9), ENTRIES), range(4), ENTRIES) == [[2] * 9] * 4
    assert _core.max_threads() == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(str, range(8), ENTRIES)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        met = threading.Barrier(4)
        in_threads(lambda _: met.wait(10), range(4), ENTRIES)
        os.write(write, b"done")
        os._exit(0)
    os.close(write)
    assert os.read(read, 4) == b"done"
    os.waitpid(child, 0)
