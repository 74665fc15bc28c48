"""What is judged safe runs exactly what it was read as: held against a real bash that writes down what it starts."""

import random
from collections import Counter
from pathlib import Path

from tests.fuzz.recorder import Recorder
from tests.fuzz.shell_lines import line
from tests.unit.permissions.table import gate_for
from weft.permissions.shell_files import expand_globs, known_variables, settle
from weft.permissions.shell_gate import examine
from weft.permissions.shell_wrappers import look_through

EXAMPLES = 3000
RUNS = 150


def expected(gate, verdict) -> Counter[tuple[str, ...]]:  # type: ignore[no-untyped-def]
    """The words of each program of a line that was judged clear."""
    words: Counter[tuple[str, ...]] = Counter()
    analysis = verdict.analysis
    for simple in analysis.line.commands:
        known = known_variables(analysis.line, analysis.text, home=gate.home, cwds=[gate.cwd])
        settled = tuple(settle(word, known, gate.home) for word in simple.words)
        for found in {settled, look_through(settled)} if settled else ():
            expanded = expand_globs(found, gate.cwd)
            assert not isinstance(expanded, str)
            words[expanded] += 1
    return words


def test_bash_starts_only_what_a_safe_line_was_read_as(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    gate = gate_for(recorder.project)
    before = recorder.files()
    source = random.Random(7)
    run = 0
    for _ in range(EXAMPLES):
        text = line(source)
        verdict = examine(gate, text, gate.cwd)
        if verdict.decision.behavior != "allow" or run >= RUNS:
            continue
        run += 1
        wanted = expected(gate, verdict)
        dynamic = any(word.variables for simple in verdict.analysis.line.commands for word in simple.words)  # type: ignore[union-attr]
        for started in recorder.run(text):
            if dynamic:
                assert started[0] in {words[0] for words in wanted}, (text, started)
            else:
                assert started in wanted, (text, started)
        assert recorder.files() == before, text
    assert run >= RUNS // 2, "too few lines were judged safe for this to mean anything"
