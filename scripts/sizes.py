"""The size gate: a module stops at 500 lines, the agent's loop at 150."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {"src/weft/agent/loop.py": 150}
STOP = 500


def main() -> int:
    failures: list[str] = []
    for suffix in ("py", "js", "css"):
        for path in sorted((ROOT / "src").rglob(f"*.{suffix}")):
            name = str(path.relative_to(ROOT))
            lines = path.read_text(encoding="utf-8").count("\n")
            limit = LIMITS.get(name, STOP)
            if lines > limit:
                failures.append(f"{name}: {lines} lines, the limit is {limit}")
    print("\n".join(failures) or "sizes: ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
