"""The Agent Client Protocol, version 1, as values: frames, blocks, updates, requests and answers.

Our own structs, because they are on the hot path; tests hold them to the published schema. Fields that only the
iFlow dialect knows (`tool_name`, `args`, `agent_id`) are left out of a frame unless they are set.
"""
