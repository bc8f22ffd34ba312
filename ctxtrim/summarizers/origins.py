"""Rules for the target of requests.

Imported together with the `openai` package, whose HTTP client it extends.

That client is `httpx.Client` or, in newer versions, `httpx2.Client`: its values are `Any` here.
"""

from ipaddress import ip_address
from typing import Any

from openai import DefaultHttpxClient

_REDIRECTS = 5  # of one request


def is_private(url: Any) -> bool:
    """Whether requests to a URL are encrypted, or do not leave this machine."""
    return url.scheme == "https" or is_loopback(url.host)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or its address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class SameOrigin(DefaultHttpxClient):
    """An HTTP client that follows redirects within one origin and returns other redirects."""

    def send(self, request: Any, **options: Any) -> Any:
        """The response to a request after redirects with the same scheme, host and port."""
        options["follow_redirects"] = False
        response = super().send(request, **options)
        for _ in range(_REDIRECTS):
            following = response.next_request
            if following is None or _origin(following.url) != _origin(request.url):
                break
            response.close()
            response = super().send(following, **options)
        return response


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
