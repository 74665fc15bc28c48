"""Outcomes as a table, and a bar while they come in."""

from collections.abc import Iterator, Sequence

from weft.sdk.evals.run import Outcome

_BAR = 24


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each task, then one for all of a model."""
    width = max([len(one.task) for one in outcomes] + [8])
    head = f"{'task':{width}}  result  steps  {'tokens in':>9}  {'cached':>7}  {'out':>6}  {'seconds':>8}"
    for model in dict.fromkeys(one.model for one in outcomes):
        rows = [one for one in outcomes if one.model == model]
        yield f"{model}"
        yield head
        for one in rows:
            verdict = "ok" if one.passed else "failed"
            why = "" if one.passed else f"  {one.reason}"
            yield f"{one.task:{width}}  {verdict:6}  {_numbers(one)}{why}"
        passed = sum(one.passed for one in rows)
        total = Outcome(
            task="",
            model=model,
            passed=True,
            steps=sum(one.steps for one in rows),
            input_tokens=sum(one.input_tokens for one in rows),
            cached_tokens=sum(one.cached_tokens for one in rows),
            output_tokens=sum(one.output_tokens for one in rows),
            seconds=sum(one.seconds for one in rows),
        )
        yield f"{f'{passed} of {len(rows)}':{width}}  {'':6}  {_numbers(total)}"


def _numbers(one: Outcome) -> str:
    counts = f"{one.input_tokens:9}  {one.cached_tokens:7}  {one.output_tokens:6}"
    return f"{one.steps:5}  {counts}  {one.seconds:8.1f}"


def bar(done: int, total: int, passed: int, name: str) -> str:
    filled = _BAR * done // total if total else _BAR
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total}, {passed} ok  {name[:30]:30}"
