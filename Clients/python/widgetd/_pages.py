"""The pages of lists."""

from __future__ import annotations

from .errors import ProtocolError


class PageTokens:
    """The page tokens of a list that is read to its end. A broken daemon cannot make the list
    endless."""

    #: The maximum number of pages. A page of a selector that matches little can be empty, so the
    #: number of widgets is no limit.
    COUNT_MAX = 100_000

    def __init__(self) -> None:
        self._count = 0
        # An earlier token. It moves to the present token after 1, 2, 4, 8 pages and so on, so any
        # circle comes back to it.
        self._mark = ""

    def next(self, token: str) -> str:
        """Notes the token that a page gives for the next page, and returns it. The token is empty
        after the last page."""
        if not token:
            return token
        if token == self._mark:
            raise ProtocolError("a page of a list gives the page token of an earlier page")
        self._count += 1
        if self._count >= self.COUNT_MAX:
            raise ProtocolError(f"a list has more than {self.COUNT_MAX} pages")
        if self._count & (self._count - 1) == 0:
            self._mark = token
        return token
