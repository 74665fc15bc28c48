"""PDFs by pages: their text, and a picture of each page that has none."""

import base64
import io
from pathlib import Path
from typing import Any

import anyio.to_thread

from weft.errors import ToolError
from weft.schema.content import AnyBlock, Base64Source, Document, Image, Text
from weft.tools.port import Result

MAX_PAGES = 20
MAX_CHARS = 90_000
MAX_DOCUMENT = 20_000_000


def parse_pages(spec: str, count: int) -> list[int]:
    """Page numbers from 1, as asked for.

    Raises:
        ToolError: it is no list of pages, or names pages that are not there.
    """
    pages: list[int] = []
    for part in spec.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            start = int(first)
            end = int(last) if last.strip() else count if dash else start
        except ValueError:
            raise ToolError(f'pages is {spec!r}; write it like "3", "1-5" or "2,7-9"') from None
        if not 1 <= start <= end <= count:
            raise ToolError(f"the PDF has pages 1 to {count}; {part.strip()!r} is not among them")
        pages += [page for page in range(start, end + 1) if page not in pages]
        if len(pages) > MAX_PAGES:
            raise ToolError(f"at most {MAX_PAGES} pages at a time; the PDF has {count}")
    return pages


async def read_pdf(path: Path, data: bytes, pages: str | None) -> Result:
    from importlib.util import find_spec

    if find_spec("pypdfium2") is None:
        return _whole(path, data)
    return await anyio.to_thread.run_sync(_by_pages, path, data, pages)


def _whole(path: Path, data: bytes) -> Result:
    """Without a reader of our own, the model's provider may read it."""
    if len(data) > MAX_DOCUMENT:
        raise ToolError(f"{path} is too big to send whole; `pip install weft[documents]` reads PDFs by pages")
    encoded = base64.b64encode(data).decode()
    document = Document(Base64Source("application/pdf", encoded), title=path.name)
    return Result(content=(document,), data={"type": "pdf", "file": {"filePath": str(path), "originalSize": len(data)}})


def _by_pages(path: Path, data: bytes, spec: str | None) -> Result:
    import pypdfium2

    try:
        pdf: Any = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise ToolError(f"{path} cannot be read as a PDF: {error}") from error
    try:
        count = len(pdf)
        pages = parse_pages(spec, count) if spec else list(range(1, min(count, MAX_PAGES) + 1))
        blocks: list[AnyBlock] = []
        room = MAX_CHARS
        for page in pages:
            found = _page(pdf, page)
            room -= len(found.text) if isinstance(found, Text) else 0
            if room < 0 and blocks:
                pages = pages[: pages.index(page)]
                break
            blocks.append(found)
    finally:
        pdf.close()
    if len(pages) < count:
        blocks.append(Text(f"(Pages {_listed(pages)} of {count}. Ask for others with `pages`.)"))
    described = {"filePath": str(path), "originalSize": len(data), "pages": pages, "totalPages": count}
    return Result(content=tuple(blocks), data={"type": "pdf", "file": described})


def _page(pdf: Any, number: int) -> AnyBlock:
    page = pdf[number - 1]
    text = page.get_textpage().get_text_bounded().replace("\r\n", "\n").strip()
    if text:
        return Text(f"--- page {number} ---\n{text}")
    width, height = page.get_size()
    scale = min(2.0, 1500 / max(width, height, 1))
    out = io.BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(out, "JPEG", quality=80)
    return Image(Base64Source("image/jpeg", base64.b64encode(out.getvalue()).decode()))


def _listed(pages: list[int]) -> str:
    return f"{pages[0]} to {pages[-1]}" if pages == list(range(pages[0], pages[-1] + 1)) else ", ".join(map(str, pages))
