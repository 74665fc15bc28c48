"""What people look at. A surface knows a `Connection`, never the agent."""
