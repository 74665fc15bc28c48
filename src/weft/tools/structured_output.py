"""StructuredOutput: the turn's result as a value of the schema that the caller gave."""

import msgspec

from weft.schema.content import Json
from weft.schema.display import TextView
from weft.tools.json_schema import problems
from weft.tools.port import Result, Tool, ToolContext


class StructuredOutputArgs(msgspec.Struct, frozen=True):
    """The caller's own fields; when its schema is not an object's, `value` holds the result."""

    value: object


class StructuredOutput(Tool[StructuredOutputArgs]):
    """Made for one schema. A right value ends the turn; a wrong one is answered with what is wrong."""

    name = "StructuredOutput"
    args = StructuredOutputArgs
    group = "other"
    read_only = True

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._wrapped = schema.get("type") not in ("object", None) or (
            "type" not in schema and "properties" not in schema
        )

    @property
    def input_schema(self) -> Json:
        if not self._wrapped:
            return {"type": "object", **self._schema}
        return {"type": "object", "properties": {"value": self._schema}, "required": ["value"]}

    def decode(self, value: Json) -> StructuredOutputArgs:
        return StructuredOutputArgs(value.get("value") if self._wrapped else value)

    def title(self, args: StructuredOutputArgs) -> str:
        return "Give the result"

    async def run(self, args: StructuredOutputArgs, context: ToolContext) -> Result:
        wrong = problems(args.value, self._schema)
        if wrong:
            listed = "\n".join(f"- {problem}" for problem in wrong)
            return Result(
                content=f"The result does not fit its schema:\n{listed}\nCorrect it and call again.", is_error=True
            )
        shown = msgspec.json.format(msgspec.json.encode(args.value), indent=2).decode()
        return Result(
            content="The result was given.",
            display=(TextView(shown, language="json"),),
            data=args.value,
            structured=args.value,
            final=True,
        )
