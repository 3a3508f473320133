"""Who may do what: bearer tokens from a file, compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Right: TypeAlias = Literal["read", "write"]

FEWEST_CHARACTERS = 16
_MOST_CHARACTERS = 1_000


@dataclass(frozen=True)
class Tokens:
    """The tokens of a service; without any, everybody may do everything."""

    digests: tuple[tuple[bytes, Right], ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the tokens of a file: a line for each, ``read TOKEN`` or ``write TOKEN``.

        A write token may also read. # begins a comment.
        """
        return cls.of(path.read_text("utf-8"))

    @classmethod
    def of(cls, text: str) -> Self:
        r"""Return the tokens of a file's text.

        Examples
        --------
        >>> tokens = Tokens.of("# who\nread aaaaaaaaaaaaaaaa\nwrite bbbbbbbbbbbbbbbb\n")
        >>> tokens.right("Bearer aaaaaaaaaaaaaaaa"), tokens.right("Bearer x"), tokens.right("")
        ('read', None, None)
        """
        digests: list[tuple[bytes, Right]] = []
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in ("read", "write"):
                raise ValueError(f"line {number} of the tokens must be 'read TOKEN' or 'write TOKEN'")
            if not FEWEST_CHARACTERS <= len(words[1]) <= _MOST_CHARACTERS or not words[1].isascii():
                raise ValueError(
                    f"the token in line {number} must have at least {FEWEST_CHARACTERS} ASCII characters"
                )
            digests.append((_digest(words[1]), "read" if words[0] == "read" else "write"))
        if not digests:
            raise ValueError("there is no token in the file")
        return cls(tuple(digests))

    def right(self, authorization: str) -> Right | None:
        """Return what the bearer of a header ``Authorization`` may do, None if nothing.

        A browser, which knows nothing of bearers, may send the token as a password.
        """
        offered = _digest(_offered(authorization))
        found: Right | None = None
        for digest, right in self.digests:  # all of them, so that the time says nothing
            if hmac.compare_digest(digest, offered):
                found = right
        return found


def _offered(authorization: str) -> str:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
