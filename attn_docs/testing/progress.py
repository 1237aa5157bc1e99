"""What is being judged right now, for whoever waits: a check may take seconds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

PATIENCE = 2.0  # seconds in which nothing is said
AGAIN = 0.2  # seconds from one look to the next


def _nobody(name: str) -> None:
    """Tell nobody."""


_watching: ContextVar[Callable[[str], None]] = ContextVar("watching", default=_nobody)


def judging(name: str) -> None:
    """Tell whoever watches that a property is being judged."""
    _watching.get()(name)


@contextmanager
def watched(watch: Callable[[str], None]) -> Iterator[None]:
    """Call `watch` with the name of each property as it is judged."""
    token = _watching.set(watch)
    try:
        yield
    finally:
        _watching.reset(token)


@contextmanager
def shown(stream: TextIO, patience: float = PATIENCE) -> Iterator[None]:
    """Say in one line of a terminal what takes so long, and take the line away at the end."""
    if not stream.isatty():
        yield
        return
    current, done = ["the way of computing"], threading.Event()

    def say() -> None:
        wait = patience
        while not done.wait(wait):
            wait = AGAIN
            stream.write(f"\r\x1b[Kjudging {current[0]} …")
            stream.flush()

    def now(name: str) -> None:
        current[0] = name

    teller = threading.Thread(target=say, daemon=True)
    teller.start()
    try:
        with watched(now):
            yield
    finally:
        done.set()
        teller.join()
        stream.write("\r\x1b[K")
        stream.flush()
