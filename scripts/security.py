"""Writes the table of `docs/security.md` from `tests/requirements.py`: a row for each case, with its variants counted.

    python scripts/security.py

A variant is one collected test of pytest, or one line of the table of shell bypasses.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security.md"
START, END = "<!-- table -->", "<!-- end of table -->"


def collected(files: list[str]) -> Counter[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:xdist", *(f"tests/{f}" for f in files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    found: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        if "::" in line:
            found[re.sub(r"\[.*", "", line).removeprefix("tests/")] += 1
    return found


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from tests.requirements import REQUIREMENTS
    from tests.suites.attacks.test_injection import CARRIERS, ORDERS
    from tests.unit.permissions.bypasses import CASES

    counts = collected(sorted({proof.split("::")[0] for each in REQUIREMENTS for proof in each.proofs}))
    rows = ["| case | tried | variants | what happens | tests |", "|---|---|---|---|---|"]
    for each in REQUIREMENTS:
        number = int(each.id[1:])
        variants = sum(counts[proof] for proof in each.proofs)
        if each.id.startswith("S") and number in CASES:
            variants = len(CASES[number])
        elif each.id == "S53":
            variants = len(ORDERS) * len(CARRIERS) * 4
        tests = "<br>".join(f"`{proof}`" for proof in each.proofs)
        rows.append(f"| {each.id} | {each.tried} | {variants} | {each.outcome} | {tests} |")
    text = PAGE.read_text()
    before, after = text.split(START)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{START}\n" + "\n".join(rows) + f"\n{END}{after}")
    missing = [proof for each in REQUIREMENTS for proof in each.proofs if not counts[proof]]
    if missing:
        print("not collected: " + ", ".join(missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
