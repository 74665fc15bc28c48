"""The twelve tools that an editor offers: names and arguments as agents send them, manuals in our own words.

`openFile` takes what both real editors take: texts to find, or line numbers that count from one.
"""

from typing import Final

import msgspec

from weft.schema.content import Json


class Arguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all; unknown arguments are ignored, so that a newer agent still works."""


class OpenFile(Arguments, frozen=True):
    file_path: str
    preview: bool = False
    start_text: str = ""
    end_text: str = ""
    select_to_end_of_line: bool = False
    make_frontmost: bool = True
    start_line: int | None = None
    end_line: int | None = None


class OpenDiff(msgspec.Struct, frozen=True, kw_only=True):
    new_file_path: str
    new_file_contents: str
    tab_name: str
    old_file_path: str = ""


class GetDiagnostics(Arguments, frozen=True):
    uri: str | None = None


class OneFile(Arguments, frozen=True):
    """`checkDocumentDirty` and `saveDocument`."""

    file_path: str


class CloseTab(msgspec.Struct, frozen=True, kw_only=True):
    tab_name: str


class ExecuteCode(Arguments, frozen=True):
    code: str


class Nothing(Arguments, frozen=True):
    """Tools without arguments."""


AnyArguments = OpenFile | OpenDiff | GetDiagnostics | OneFile | CloseTab | ExecuteCode | Nothing


class ToolSpec(msgspec.Struct, frozen=True):
    name: str
    description: str
    arguments: type[AnyArguments]


SPECS: Final = (
    ToolSpec("openFile", "Open a file in the editor, and mark a range of it by texts or by line numbers.", OpenFile),
    ToolSpec(
        "openDiff",
        "Show proposed contents of a file beside its present ones, and wait until the person decides.",
        OpenDiff,
    ),
    ToolSpec("getCurrentSelection", "The text that is marked in the active editor.", Nothing),
    ToolSpec("getLatestSelection", "The text that was marked last, in whichever editor.", Nothing),
    ToolSpec("getOpenEditors", "The open files: which one is active, and which have unsaved changes.", Nothing),
    ToolSpec("getWorkspaceFolders", "The folders that are open in the editor.", Nothing),
    ToolSpec("getDiagnostics", "Errors and warnings of the language servers, for one file or for all.", GetDiagnostics),
    ToolSpec("checkDocumentDirty", "Whether an open file has unsaved changes.", OneFile),
    ToolSpec("saveDocument", "Save the unsaved changes of an open file.", OneFile),
    ToolSpec("close_tab", "Close a tab by its name.", CloseTab),
    ToolSpec("closeAllDiffTabs", "Close all diffs that this agent opened.", Nothing),
    ToolSpec(
        "executeCode",
        "Run Python code in the notebook's Jupyter kernel. Variables stay until the kernel is restarted.",
        ExecuteCode,
    ),
)
BY_NAME: Final = {spec.name: spec for spec in SPECS}


def encode_spec(spec: ToolSpec) -> Json:
    """One entry of `tools/list`."""
    properties: Json = {}
    required: list[str] = []
    for field in msgspec.structs.fields(spec.arguments):
        kinds = {str: "string", bool: "boolean", int: "integer", str | None: "string", int | None: "integer"}
        properties[field.encode_name] = {"type": kinds[field.type]}
        if field.required:
            required.append(field.encode_name)
    schema: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return {"name": spec.name, "description": spec.description, "inputSchema": schema}


def decode_arguments(spec: ToolSpec, value: object) -> AnyArguments:
    """
    Raises:
        msgspec.ValidationError: with a sentence that says where.
    """
    return msgspec.convert({} if value is None else value, spec.arguments)
