"""``serve``: gunicorn with one process and the poller in it (spec 25, Running it)."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import sys
from types import FrameType
from typing import Any, cast

import click
from flask import Flask
from flask.cli import with_appcontext
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.util import import_app
from gunicorn.workers.base import Worker

from webapp.cli.worker import make_poller
from webapp.config import Settings
from webapp.poller import Poller
from webapp.web.deps import installation
from webapp.web.logs import configure_logging

log = logging.getLogger("waypost.server")

BACKLOG = 2048
GRACEFUL_SECONDS = 30


@click.command("serve")
@with_appcontext
def serve() -> None:
    """Serve the pages, the API and the poller until SIGTERM or SIGINT."""
    settings = installation().settings
    configure_logging(settings.log_level)
    listener = _listen(settings)
    # Connections must not be shared by the process that serves and the one that watches over it.
    installation().close()
    _Server(settings, listener).run()


def _listen(settings: Settings) -> socket.socket:
    """Take the port before anything else starts: a second server must end at once, not retry in the background."""
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, settings.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = f"Port {settings.port} of {settings.host} is taken. Stop what uses it, or set PORT to another."
        else:
            message = f"{settings.host}:{settings.port} cannot be used: {error.strerror or error}."
        raise click.ClickException(message) from error
    listener.listen(BACKLOG)
    return listener


def _address(settings: Settings) -> str:
    host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


class _Logger(Logger):
    """gunicorn's own lines go where all others go."""

    def setup(self, cfg: Any) -> None:
        self.error_log.handlers[:] = []
        self.error_log.propagate = True
        self.error_log.setLevel(logging.INFO)
        self.access_log.disabled = True


class _Server(BaseApplication):
    """gunicorn with our settings; the application is made in the worker, after the fork."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        # gunicorn takes the descriptor over and closes it.
        self._descriptor = listener.detach()
        self._poller: Poller | None = None
        super().__init__()

    def load_config(self) -> None:
        options = {
            "bind": f"fd://{self._descriptor}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": self._settings.threads,
            "timeout": 120,
            "graceful_timeout": GRACEFUL_SECONDS,
            "keepalive": 5,
            # Lists take many values of one filter; this is as long a line as gunicorn bounds.
            "limit_request_line": 8190,
            "accesslog": None,
            "logger_class": _Logger,
            "control_socket_disable": True,
            "proc_name": "waypost",
            "when_ready": self._when_ready,
            "post_worker_init": self._worker_ready,
            "worker_exit": self._stop_poller,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        # A module of a lower layer may not import the composition root; gunicorn finds it by name.
        return import_app("webapp:create_app()")

    def _when_ready(self, arbiter: Arbiter) -> None:
        click.echo(f"Waypost is at {_address(self._settings)}")
        sys.stdout.flush()

    def _worker_ready(self, worker: Worker) -> None:
        _answer_who_waits(cast("Flask", worker.wsgi))
        self._start_poller(worker)

    def _start_poller(self, worker: Worker) -> None:
        here = cast("Flask", worker.wsgi).extensions["waypost"]
        if here.settings.poller:
            self._poller = make_poller(here)
            self._poller.start()

    def _stop_poller(self, arbiter: Arbiter, worker: Worker) -> None:
        if self._poller is not None:
            self._poller.stop()


def _answer_who_waits(app: Flask) -> None:
    """At the end of the process answer long polls at once: gunicorn waits for every request at hand."""
    before = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        app.extensions["waypost"].services.external_tasks.close()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGTERM, end)
