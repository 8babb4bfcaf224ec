"""The fair queue that stands before a lease (spec 8.10)."""

import threading
import time

from webapp.stores.queues import FairQueues


def test_turns_come_in_the_order_of_arrival():
    queues = FairQueues()
    assert queues.enter("a", 1)
    order = []
    threads = []

    def wait(number):
        assert queues.enter("a", 10)
        order.append(number)
        queues.leave("a")

    for number in range(20):
        thread = threading.Thread(target=wait, args=(number,))
        thread.start()
        threads.append(thread)
        while len(queues._queues["a"]) < number + 2:
            time.sleep(0.001)
    queues.leave("a")
    for thread in threads:
        thread.join(10)
    assert order == list(range(20))
    assert queues._queues == {}


def test_names_do_not_wait_for_each_other():
    queues = FairQueues()
    assert queues.enter("a", 0)
    assert queues.enter("b", 0)


def test_a_turn_that_does_not_come_in_time_is_given_up():
    queues = FairQueues()
    assert queues.enter("a", 0)
    began = time.monotonic()
    assert not queues.enter("a", 0.05)
    assert time.monotonic() - began >= 0.05
    assert not queues.enter("a", 0)
    queues.leave("a")
    assert queues.enter("a", 0)
    queues.leave("a")
    assert queues._queues == {}
