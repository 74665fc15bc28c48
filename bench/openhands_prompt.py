"""OpenHands' SDK has no command of its own: this is the shortest program on it that answers one prompt with a shell.

Run by the Python of its own environment: `python bench/openhands_prompt.py PROMPT`, with LLM_BASE_URL set.
"""

import os
import sys

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.terminal import TerminalTool

llm = LLM(model="openai/fake-model", api_key="x", base_url=os.environ["LLM_BASE_URL"], num_retries=0)
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)])
conversation = Conversation(agent=agent, workspace=os.getcwd(), visualizer=None)
conversation.send_message(sys.argv[1])
conversation.run()
conversation.close()
