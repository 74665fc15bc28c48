"""Pure data: content, messages, streams, events, commands. No I/O, no behaviour beyond reading itself."""
