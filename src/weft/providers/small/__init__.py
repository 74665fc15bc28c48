"""The small-model profile: a `Provider` that wraps another and talks to it the way a small model can answer.

`turn` reads a request, `look` reads what the task names before the model is asked, `actions` is what the model may
do, `shape` the schema that its answer must fit, `prompt` what it is told, `repair` what is put right in its answer.
"""
