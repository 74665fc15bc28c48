"""Any ACP agent behind the `Connection` port: a child process or a WebSocket."""
