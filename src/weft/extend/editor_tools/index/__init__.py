"""The code index: files cut along their definitions, searched with BM25."""
