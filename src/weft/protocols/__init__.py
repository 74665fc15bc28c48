"""Sans-I/O: bytes or values in, values or bytes out. Nothing here waits, opens or logs."""
