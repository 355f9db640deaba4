"""Starts a real gateway for the tests of programs that use one."""

from __future__ import annotations

import os
import pathlib
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Any, Dict, Mapping, Optional, Tuple

from ._gateway import Gateway

_START_TIMEOUT_SECONDS = 60.0
# Of this process's environment nothing else goes on: a database or a carrier of the program under test must not.
_INHERITED = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "APPDATA", "LOCALAPPDATA", "LANG")
_SETTINGS = {
    "NODE_ENV": "test",
    "PORT": "0",
    "LOG_LEVEL": "warn",
    "RATE_LIMIT_PER_MINUTE": "100000",
    "RATE_LIMIT_WEBHOOKS_PER_MINUTE": "100000",
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
}
# Runs the gateway until this process closes the pipe, which a kill -9 does, too.
_KEEPER = """
  const { spawn } = require('node:child_process');
  const gateway = spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
  gateway.on('exit', (code) => process.exit(code ?? 1));
  process.stdin.on('end', () => gateway.kill('SIGTERM')).resume();"""


class TestGateway:
    """A running gateway; ends with ``stop()`` or at the end of a ``with``."""

    #: Without ``/api/v1``.
    url: str
    #: A production key with FULL_ACCESS, of an account with 100,000 UGX; the carriers are simulated.
    api_key: str
    sandbox_key: str
    #: A client with the production key.
    gateway: Gateway
    #: A client with the sandbox key.
    sandbox: Gateway

    def __init__(self, process: "subprocess.Popen[str]", home: str, shown: Tuple[str, str, str]) -> None:
        self._process = process
        self._home = home
        self.url, self.api_key, self.sandbox_key = shown
        self.gateway = Gateway(self.api_key, self.url)
        self.sandbox = Gateway(self.sandbox_key, self.url)

    def stop(self) -> None:
        """Ends it, with all that it stored."""
        _end(self._process, self._home)

    def __enter__(self) -> "TestGateway":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def start_test_gateway(
    directory: Optional[str] = None,
    environment: Optional[Mapping[str, str]] = None,
    start_timeout_seconds: float = _START_TIMEOUT_SECONDS,
) -> TestGateway:
    """A gateway of its own, with PostgreSQL and simulated carriers, in a folder that goes when it stops.

    ``directory`` is the folder of the gateway; without it that which MESSAGING_GATEWAY_DIR names. ``environment`` has
    settings of the gateway, such as ``SERVICE_NAME``. Raises ``RuntimeError``, with what it wrote, when it does not
    start.
    """
    folder = directory or os.environ.get("MESSAGING_GATEWAY_DIR")
    if folder is None:
        raise RuntimeError("There is no gateway to start: set MESSAGING_GATEWAY_DIR to its folder.")
    root = pathlib.Path(folder).resolve()
    node = _node(root)
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    builder = root / "tools/build-when-old.js"
    if builder.exists():
        subprocess.run([node, str(builder), "server"], cwd=root, env=inherited, check=True)
    home = tempfile.mkdtemp(prefix="test-gateway-")
    # Under root another user runs PostgreSQL, and must be able to enter.
    os.chmod(home, 0o755)
    process = subprocess.Popen(
        [node, "--eval", _KEEPER, str(root / "dist/src/main.js")],
        # The gateway reads `.env` from where it runs.
        cwd=home,
        env={**inherited, **_SETTINGS, "DATA_DIR": os.path.join(home, "data"), **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        return TestGateway(process, home, _shown(process, start_timeout_seconds))
    except BaseException:
        _end(process, home)
        raise


def _end(process: "subprocess.Popen[str]", home: str) -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
    shutil.rmtree(home, ignore_errors=True)


def _node(root: pathlib.Path) -> str:
    """The Node that the gateway brings along, where npm would find it, or the system's."""
    for at in (root, *root.parents):
        found = at / "node_modules/.bin/node"
        if found.exists():
            return str(found)
    return shutil.which("node") or "node"


def _shown(process: "subprocess.Popen[str]", timeout_seconds: float) -> Tuple[str, str, str]:
    """The address and the keys, which the first start shows once."""
    lines: "queue.Queue[Optional[str]]" = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    written = ""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise RuntimeError(f"The gateway was not ready after {timeout_seconds} s. It wrote:\n{written}") from None
        if line is None:
            raise RuntimeError(f"The gateway ended with {process.wait()}. It wrote:\n{written}")
        written += line
        found: Dict[str, str] = {}
        for name, pattern in (
            ("url", r"^ready (\S+)"),
            ("key", r"production key\s+(msg_\S+)"),
            ("sandbox", r"sandbox key\s+(msg_\S+)"),
        ):
            match = re.search(pattern, written, re.MULTILINE)
            if match:
                found[name] = match[1]
        if "url" in found:
            if "key" not in found:
                raise RuntimeError("The gateway has an account already: give it a database of its own.")
            return found["url"], found["key"], found["sandbox"]
