"""Domain rules of WebFetch: `domain:example.com` is that host alone, `domain:*.example.com` every host below it.
A rule that restricts `example.com` covers the hosts below it too, on every port.

Hosts are compared label by label after IDNA, never as text, and what stands before an `@` is not the host.
"""

import re
from urllib.parse import urlsplit

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"


def host_of(url: str) -> tuple[str, str]:
    """The host of a URL in ASCII, with its port when that is unusual, and why an allow rule may not trust it."""
    from unicodedata import category

    if any(category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp") for character in url) or "\\" in url:
        return "", "the address has blanks, backslashes or invisible characters"
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return "", "the address cannot be parsed"
    if parts.scheme not in ("http", "https") or not host:
        return "", "it is not an http address"
    name = ascii_host(host)
    if not name:
        return "", "the host is not a valid name"
    doubt = "the address has a user name before its host" if "@" in parts.netloc else ""
    return (name if port in (None, 80, 443) else f"{name}:{port}"), doubt


def ascii_host(host: str) -> str:
    """Lower case, IDNA, no trailing dot; empty when it is not a host name or address."""
    host = host.strip().rstrip(".").lower()
    if ":" in host:
        return host.strip("[]")
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
    return name if name and all(re.fullmatch(_LABEL, label) for label in name.split(".")) else ""


def key(pattern: str) -> str:
    """A rule's pattern in the form that `keys` gives; empty for one that can never match."""
    if pattern.startswith("*."):
        base = ascii_host(pattern[2:])
        return f"*.{base}" if base else ""
    wanted, colon, port = pattern.partition(":")
    name = ascii_host(wanted)
    return f"{name}:{port}" if name and colon else name


def keys(host: str, *, restricting: bool) -> list[str]:
    """All rule keys that a host from `host_of` answers to."""
    if not host:
        return []
    name = host.partition(":")[0]
    labels = name.split(".")
    above = [".".join(labels[index:]) for index in range(1, len(labels))]
    below = [f"*.{parent}" for parent in above]
    if restricting:
        return [host, name, f"*.{name}", *above, *below]
    return [host] if host != name else [host, *below]
