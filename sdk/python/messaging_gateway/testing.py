"""Starts a real gateway for the tests of a program that uses it."""

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
# The gateway gets only these environment variables of this process. Otherwise it could use the database or the carrier
# of the program under test.
_INHERITED = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "APPDATA", "LOCALAPPDATA", "LANG")
_SETTINGS = {
    "NODE_ENV": "test",
    "PORT": "0",
    "LOG_LEVEL": "warn",
    "RATE_LIMIT_PER_MINUTE": "100000",
    "RATE_LIMIT_WEBHOOKS_PER_MINUTE": "100000",
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
}
# Runs the gateway until this process closes the pipe. The pipe is also closed if this process is killed with SIGKILL.
_KEEPER = """
  const { spawn } = require('node:child_process');
  const gateway = spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
  gateway.on('exit', (code) => process.exit(code ?? 1));
  process.stdin.on('end', () => gateway.kill('SIGTERM')).resume();"""


class TestGateway:
    """A running gateway. ``stop()`` or the end of a ``with`` block stops it."""

    #: URL of the gateway, without ``/api/v1``.
    url: str
    #: A production API key with FULL_ACCESS. Its account has 100,000 UGX, and the carriers are simulated.
    api_key: str
    sandbox_key: str
    #: A client with the production API key.
    gateway: Gateway
    #: A client with the sandbox API key.
    sandbox: Gateway

    def __init__(self, process: "subprocess.Popen[str]", home: str, shown: Tuple[str, str, str]) -> None:
        self._process = process
        self._home = home
        self.url, self.api_key, self.sandbox_key = shown
        self.gateway = Gateway(self.api_key, self.url)
        self.sandbox = Gateway(self.sandbox_key, self.url)

    def stop(self) -> None:
        """Stops the gateway and deletes all its data."""
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
    """Starts a new gateway with PostgreSQL and simulated carriers. Its temporary folder is deleted when it stops.

    ``directory`` is the folder of the gateway. Default: the folder in MESSAGING_GATEWAY_DIR. ``environment`` has
    environment variables for the gateway, such as ``SERVICE_NAME``. Raises ``RuntimeError`` if the gateway does not
    start. The error contains the gateway's output.
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
    # If this process runs as root, PostgreSQL runs as another user, who must be able to open the folder.
    os.chmod(home, 0o755)
    process = subprocess.Popen(
        [node, "--eval", _KEEPER, str(root / "dist/src/main.js")],
        # The gateway reads `.env` from its working directory. This new folder has none.
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
    """Returns the Node.js binary in the gateway's node_modules, or else the one of the system."""
    for at in (root, *root.parents):
        found = at / "node_modules/.bin/node"
        if found.exists():
            return str(found)
    return shutil.which("node") or "node"


def _shown(process: "subprocess.Popen[str]", timeout_seconds: float) -> Tuple[str, str, str]:
    """Returns the URL and the API keys, which the gateway prints once at its first start."""
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
