"""Models that run here, without a server of anybody's: GGUF files through llama.cpp in a child of ours.

`store` knows the files, `sources` where known models come from, `fetch` brings them, `provider` speaks to the child.
"""
