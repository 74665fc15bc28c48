"""Lists and forms that open over the conversation: one function for each, awaited until the person has chosen."""
