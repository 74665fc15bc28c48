"""`weft model`: models that run on this machine."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.providers.gguf.store import Store

EXAMPLES = """\
examples:
  weft model list                           what is here, and what can be brought
  weft model add qwen2.5-coder-1.5b         bring a model that Weft knows (1.1 GB)
  weft model add ~/models/mine.gguf         use a file where it is
  weft model add https://…/x.gguf --sha256 cc32…
  weft model use qwen2.5-coder-1.5b         from now on, unless another is named
  weft model remove mine
  weft model stop                           end the llama.cpp that still waits for work
pip install 'weft[local]' brings llama.cpp itself.
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="weft model",
        description="Models that run on this machine, through llama.cpp. Files in the caches of Ollama, LM Studio "
        "and Hugging Face are found by themselves, and never copied or changed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="what is here, and what can be brought")
    listing.add_argument("--json", action="store_true", help="as JSON")
    add = commands.add_parser("add", help="bring a model, or name a file that is here")
    add.add_argument("what", help="a name of the list, a GGUF file, or an https address of one")
    add.add_argument("--name", help="what it is called here")
    add.add_argument("--sha256", default="", help="the hash that the file must have")
    use = commands.add_parser("use", help="take this model from now on")
    use.add_argument("name")
    remove = commands.add_parser("remove", help="take a model off the list; a download is deleted")
    remove.add_argument("name")
    commands.add_parser("stop", help="end the llama.cpp that still waits for work")
    arguments = parser.parse_args(argv)

    from weft.paths import weft_home
    from weft.providers.gguf.store import Store

    store = Store(weft_home(), os.environ)
    match arguments.command:
        case "list":
            return _list(store, as_json=arguments.json)
        case "add":
            return _add(store, arguments.what, arguments.name, arguments.sha256.lower())
        case "use":
            return _use(store, arguments.name)
        case "remove":
            return _remove(store, arguments.name)
        case _:
            return _stop(store)


def _list(store: "Store", *, as_json: bool) -> int:
    import msgspec

    from weft.providers.gguf.sources import known_models
    from weft.transports.llama_child import HINT, has_llama, read_state, state_file

    here = store.all()
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(list(here.values())), indent=2).decode() + "\n")
        return 0
    for one in here.values():
        state = ", running" if read_state(state_file(Path(one.path), store.run_folder)) else ""
        _say(f"{one.name:32} {_size(one.size):>8}  {one.origin}{state}  {one.path}")
    for known in known_models().values():
        if known.name not in here:
            _say(f"{known.name:32} {_size(known.size):>8}  weft model add {known.name}: {known.about}")
    if not has_llama():
        _say(f"llama.cpp is not installed, so none of them can run. {HINT}")
    return 0


def _add(store: "Store", what: str, name: str | None, sha256: str) -> int:
    import anyio

    from weft.providers.gguf.fetch import download, fetch_known
    from weft.providers.gguf.sources import known_models
    from weft.providers.gguf.store import Weights

    known = known_models().get(what)
    if known is not None:
        title, hashed = name or known.name, known.sha256
        target = store.folder / f"{_checked(title)}.gguf"
        path = anyio.run(fetch_known, known, target, _progress)
    elif "://" in what:
        title, hashed = name or Path(what.split("?")[0]).stem, sha256
        target = store.folder / f"{_checked(title)}.gguf"
        path = anyio.run(download, what, target, sha256, _progress)
    else:
        path = _named_file(what, sha256)
        title, hashed = name or path.stem, sha256
    _clear()
    store.add(Weights(name=_checked(title), path=str(path), sha256=hashed, size=path.stat().st_size))
    _say(f"{title} is here. Use it with: weft --model gguf:{title}, or always: weft model use {title}")
    return 0


def _named_file(what: str, sha256: str) -> Path:
    from weft.errors import UsageError
    from weft.providers.gguf.fetch import hash_of
    from weft.providers.gguf.sources import known_models
    from weft.providers.gguf.store import is_gguf

    path = Path(what).expanduser().resolve()
    if not path.is_file():
        names = ", ".join(known_models())
        raise UsageError(f"there is no file {path}", hint=f"Known by name are {names}.")
    if not is_gguf(path):
        raise UsageError(f"{path} is no GGUF file")
    if sha256 and (found := hash_of(path)) != sha256:
        raise UsageError(f"the file's SHA-256 is {found}, not {sha256}")
    return path


def _checked(name: str) -> str:
    import re

    from weft.errors import UsageError

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UsageError(f"{name!r} is no name for a model: letters, digits, '.', '_' and '-'")
    return name


def _use(store: "Store", name: str) -> int:
    from weft.paths import weft_home
    from weft.schema.content import Json
    from weft.settings.write import edit_file

    found = store.get(name)
    path = weft_home() / "settings.json"

    def change(settings: Json) -> None:
        settings["model"] = f"gguf:{found.name}"

    edit_file(path, change)
    _say(f"{path} now says: model gguf:{found.name}")
    return 0


def _remove(store: "Store", name: str) -> int:
    from weft.errors import UsageError
    from weft.transports.llama_child import state_file, stop

    gone = store.forget(name)
    if gone is None:
        if name in store.all():
            raise UsageError(f"{name} belongs to another program", hint=f"Remove it there: {store.get(name).path}")
        raise UsageError(f"there is no local model {name!r}", hint="weft model list shows them.")
    stop(state_file(Path(gone.path), store.run_folder))
    _say(f"{name} is off the list" + ("." if Path(gone.path).exists() else ", and its file is deleted."))
    return 0


def _stop(store: "Store") -> int:
    from weft.transports.llama_child import stop

    ended = [place.stem for place in sorted(store.run_folder.glob("llama-*.json")) if stop(place)]
    _say(f"{len(ended)} ended." if ended else "None was running.")
    return 0


def _progress(doing: str, have: int, total: int) -> None:
    if not sys.stderr.isatty():
        return
    share = f"{100 * have // total:3}% of {_size(total)}" if total else _size(have)
    sys.stderr.write(f"\r{doing}: {share}\x1b[K")
    sys.stderr.flush()


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def _size(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
