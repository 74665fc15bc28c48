"""A host on hostile servers, quickly started, and people who are functions."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from weft.mcp.config import ServerConfig
from weft.mcp.host import Host
from weft.mcp.options import HostOptions, InputAnswer
from weft.schema.content import Json

OpenHost = Callable[..., AbstractAsyncContextManager[Host]]


class Person:
    """Answers what it was told to, and keeps what it was shown."""

    def __init__(self, *answers: InputAnswer) -> None:
        self.answers = list(answers)
        self.shown: list[str] = []
        self.urls: list[str | None] = []

    async def __call__(
        self, server: str, message: str, *, schema: Json | None = None, url: str | None = None, visit: str = ""
    ) -> InputAnswer:
        self.shown.append(message)
        self.urls.append(url)
        return self.answers.pop(0) if self.answers else InputAnswer("decline")


def hostile(name: str = "bad", **spec: Any) -> ServerConfig:
    """A server of `weft.testing.mcp_server` that does as the words say."""
    return ServerConfig(
        name=name, command=sys.executable, args=("-m", "weft.testing.mcp_server", json.dumps(spec)), protocol="legacy"
    )


@pytest.fixture
def open_host(tmp_path: Path) -> OpenHost:
    def make(*configs: ServerConfig, **options: Any) -> Host:
        settings: dict[str, Any] = {
            "cwd": tmp_path,
            "home": tmp_path / "home",
            "start_delay": 0.0,
            "start_timeout": 10.0,
            "backoff": 0.05,
            **options,
        }
        return Host(configs, HostOptions(**settings))

    return make
