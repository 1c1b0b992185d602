"""The API server, asked through kubectl.

A plugin of kubectl has it at hand, and whatever kubectl logs in with (certificates, tokens, a cloud's helper programs, proxies) works here just so.
One start of it takes 70 ms, and importing the operator's own client 270 ms (docs/decisions/0013-the-plugin-asks-kubectl.md).
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from valkey_operator.outside.errors import NotCheckedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    Object = dict[str, Any]

_SERVER = re.compile(r"^Error from server \((?P<reason>\w+)\): (?P<text>.*)$", re.MULTILINE)
_NO_ANSWER = 10
"""Seconds until kubectl gives up on the API server."""


class RefusedError(NotCheckedError):
    """The API server answered, and did not do it; `reason` is its word for why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """kubectl with the options that were given to the plugin; NotCheckedError for all that it cannot do."""

    kubeconfig: Path | None = None
    context: str | None = None

    async def namespace(self) -> str:
        """The namespace of the context."""
        words = "config", "view", "--minify", "--output", "jsonpath={..namespace}"
        return (await self._run(*words, what="the kubeconfig")).strip() or "default"

    async def get(self, path: str, *, what: str) -> Object:
        """What the API server has at that path."""
        found: Object = json.loads(await self._run("get", "--raw", path, what=what))
        return found

    async def create(self, body: Object, *, what: str) -> None:
        """Make an object."""
        await self._run("create", "--filename", "-", what=what, text=json.dumps(body))

    async def run(self, *words: str, what: str) -> str:
        """What another command printed."""
        return await self._run(*words, what=what)

    @asynccontextmanager
    async def lines(self, *words: str) -> AsyncIterator[AsyncIterator[str]]:
        """The lines that a command prints for as long as it runs; it ends with the context."""
        process = await self._start(*words)
        assert process.stdout is not None  # noqa: S101 - it was asked for
        try:
            yield (line.decode() async for line in process.stdout)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def _run(self, *words: str, what: str, text: str | None = None) -> str:
        process = await self._start(*words)
        said, complaint = await process.communicate(None if text is None else text.encode())
        if process.returncode:
            raise refusal(complaint.decode(errors="replace"), what=what)
        return said.decode()

    async def _start(self, *words: str) -> asyncio.subprocess.Process:
        program = shutil.which("kubectl")
        if program is None:
            raise NotCheckedError("there is no kubectl on the PATH, through which this plugin asks the API server: install it")
        given = ["--kubeconfig", str(self.kubeconfig)] if self.kubeconfig else []
        given += ["--context", self.context] if self.context else []
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            program, *given, f"--request-timeout={_NO_ANSWER}s", *words, stdin=pipe, stdout=pipe, stderr=pipe
        )


def refusal(complaint: str, *, what: str) -> NotCheckedError:
    """What kubectl's complaint means, with what was wanted and what to do now."""
    answer = _SERVER.search(complaint)
    if answer is None:
        last = (complaint.strip().splitlines() or ["kubectl failed without a word"])[-1].removeprefix("error: ")
        if "Unauthorized" in last:
            return RefusedError("Unauthorized", f"{what}: {last}; log in to Kubernetes again")
        return NotCheckedError(
            f"{what}: {last}; see whether `kubectl get namespaces` works with the same --kubeconfig and --context"
        )
    reason, text = answer["reason"], answer["text"]
    now = {
        "Forbidden": "ask for that right (docs/kubectl-valkey.md lists all that are needed)",
        "NotFound": "see `kubectl get vkc --all-namespaces`, and give --namespace",
    }.get(reason, "")
    if reason == "NotFound" and "could not find the requested resource" in text:
        now = "this Kubernetes does not know ValkeyClusters: install the operator's CRDs, or choose another --context"
    return RefusedError(reason, f"{what}: {text}{'; ' if now else ''}{now}")
