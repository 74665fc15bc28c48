"""What plug-ins cost at the start: `python bench/plugins.py`.

Fifty packages with a manifest each are installed beside a thousand files of other packages. Measured is what a start
does with them: the look, and the registry that the session asks. The best and the middle of many runs.
"""

import statistics
import tempfile
import time
from pathlib import Path

from weft.extend import installed, registry
from weft.extend.keys import ContextKeys
from weft.extend.tools import PluginTools

PLUGINS = 50
OTHERS = 300
RUNS = 40
LIMIT_MS = 10.0

MANIFEST = """
[plugin]
name = "bench{n}"
description = "One of fifty."

[[tool]]
name = "bench{n}_search"
run = "bench_{n}.tools:Search"
display_name = "Search {n}"
model_description = "Searches the things of package {n}. Use it when the person asks for them."
can_be_referenced = true
reference_name = "search{n}"
when = "workspaceFolderCount > 0 && resourceLangId != cobol"

[tool.input_schema]
type = "object"
required = ["query"]

[tool.input_schema.properties.query]
type = "string"
description = "What to look for."

[[participant]]
id = "bench{n}.helper"
name = "helper{n}"
run = "bench_{n}.chat:Helper"
description = "Helps with {n}."
"""


def install(site: Path) -> None:
    for n in range(PLUGINS):
        package = site / f"bench_{n}"
        package.mkdir(parents=True)
        (package / "plugin.toml").write_text(MANIFEST.format(n=n))
        info = site / f"bench_{n}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(f"[weft.plugins]\nbench{n} = bench_{n}\n")
    for n in range(OTHERS):
        info = site / f"other_{n}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text("[console_scripts]\nx = y:z\n")


def start(home: Path, site: Path) -> int:
    """What a session does with plug-ins before its first request."""
    problems: list[str] = []
    seen = installed.look(home, [str(site)])
    keys = ContextKeys({"workspaceFolderCount": lambda: 1}, dict)
    made = registry.Registry(registry.installed(seen, problems), switches={}, keys=lambda: keys)
    tools = PluginTools(made, lambda plugin: (_ for _ in ()).throw(AssertionError(plugin)))
    assert not problems
    return len([(tool.name, tool.manual, tool.input_schema) for tool in tools()])


def timed(home: Path, site: Path, runs: int) -> list[float]:
    found: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        assert start(home, site) in (0, PLUGINS)
        found.append((time.perf_counter() - began) * 1000)
    return found


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site, empty = folder / "site-packages", folder / "empty-packages"
        empty.mkdir()
        install(site)
        cold = timed(folder, site, 1)[0]
        warm = timed(folder, site, RUNS)
        none = timed(folder, empty, RUNS)
    print("| what | ms, best | ms, middle |")
    print("|---|---|---|")
    print(f"| {PLUGINS} plug-ins, first start after an installation | {cold:.1f} | |")
    print(f"| {PLUGINS} plug-ins, every other start | {min(warm):.2f} | {statistics.median(warm):.2f} |")
    print(f"| no plug-in | {min(none):.2f} | {statistics.median(none):.2f} |")
    good = statistics.median(warm) < LIMIT_MS
    print(f"\nUnder {LIMIT_MS:g} ms: {'yes' if good else 'NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
