"""What plug-ins cost a session that has none, and one that has many."""

import os
import subprocess
import sys
import time
from pathlib import Path

from weft.extend import registry
from weft.extend.installed import look

CODE = """
import sys, anyio
from pathlib import Path
from weft.agent.options import SessionOptions
from weft.schema.commands import Prompt
from weft.schema.events import TurnEnded
from weft.sdk.compose import Overrides, connect
from weft.testing.scripted import ScriptedProvider

async def main():
    overrides = Overrides(provider=ScriptedProvider(["hello"]))
    async with connect(SessionOptions(cwd=Path.cwd()), overrides) as connection:
        await connection.send(Prompt("hello, look at issue 12"))
        async for event in connection.events():
            if isinstance(event, TurnEnded):
                break
    print(sorted(name for name in sys.modules if name.startswith("weft.extend") or name == "importlib.metadata"))

anyio.run(main)
"""


def test_without_a_plugin_a_session_imports_the_look_and_nothing_else(tmp_path: Path) -> None:
    env = {**os.environ, "WEFT_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "['weft.extend', 'weft.extend.installed']", done.stderr


def test_fifty_plugins_cost_little_at_a_start(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    entry = '[[tool]]\nname = "tool{0}"\nrun = "m:f"\ndisplay_name = "x"\nmodel_description = "Does it."\n'
    for number in range(50):
        package = site / f"many_{number}"
        package.mkdir(parents=True)
        (package / "plugin.toml").write_text(f'[plugin]\nname = "many{number}"\n' + entry.format(number))
        info = site / f"many_{number}-1.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(f"[weft.plugins]\nmany{number} = many_{number}\n")

    def start() -> float:
        began = time.process_time()
        problems: list[str] = []
        made = list(registry.installed(look(tmp_path, [str(site)]), problems))
        assert len(made) == 50 and not problems
        return time.process_time() - began

    start()
    assert min(start() for _ in range(5)) < 0.010
