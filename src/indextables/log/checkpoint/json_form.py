"""Checkpoints in JSON: one object, or lines of actions as deployed writers produce them.

Ours are one object with the members of the format, and a first one that holds what they have no place for and a checksum of
everything. One without it was written by somebody else, whose checkpoints can be incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from indextables.errors import CheckpointCorruptionError, LogCorruptionError, UnsafePathError
from indextables.log.actions import Add, Remove, Skip
from indextables.log.bulk_decode import decode_commits
from indextables.log.bulk_encode import encode_objects
from indextables.log.checkpoint.manifest import Facts, digest, facts_of, state_from
from indextables.log.codec import decode, encode
from indextables.log.state import apply_commits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log.columns import ActionColumns
    from indextables.log.state import LogState

_SEAL: Final = b'{"indextables":'
_END_OF_SEAL: Final = b",\n"
_NULL: Final = msgspec.Raw(b"null")


class _Seal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: int
    created_time: int
    sha256: str
    files: int
    removes: int
    skips: int
    facts: Facts


class _Object(msgspec.Struct, kw_only=True, rename="camel"):
    """The members of a checkpoint in one object, each still text."""

    protocol: msgspec.Raw = _NULL
    meta_data: msgspec.Raw = _NULL
    add: list[msgspec.Raw] = []
    remove: list[msgspec.Raw] = []
    mergeskip: list[msgspec.Raw] = []


def encode_json(state: LogState, *, created_time: int, codec: str, level: int, path: str) -> tuple[bytes, int]:
    """Return the bytes of a checkpoint, and how many they are before compression."""
    facts = facts_of(state)
    body = b"".join(_body(facts, state))
    unsealed = _Seal(
        version=state.version,
        created_time=created_time,
        sha256="",
        files=state.files.num_rows,
        removes=state.removes.num_rows,
        skips=state.skips.num_rows,
        facts=facts,
    )
    sealed = msgspec.structs.replace(unsealed, sha256=_checksum(unsealed, body))
    text = _SEAL + msgspec.json.encode(sealed) + _END_OF_SEAL + body
    return encode(text, codec=codec, level=level, path=path), len(text)


def _checksum(seal: _Seal, body: bytes) -> str:
    return digest(msgspec.json.encode(msgspec.structs.replace(seal, sha256="")) + body)


def _body(facts: Facts, state: LogState) -> Iterator[bytes]:
    for raw in facts.actions:
        yield bytes(raw)[1:-1] + b",\n"  # {"protocol":{…}} without the outer braces
    for kind, rows in ((Add, state.files), (Remove, state.removes), (Skip, state.skips)):
        yield (b"" if kind is Add else b",\n") + b'"' + kind.key.encode() + b'":[\n'
        objects = list(encode_objects(rows, kind))
        yield b"".join(objects)[:-2] + b"\n"
        yield b"]"
    yield b"}\n"


def decode_json(data: bytes, *, version: int, path: str) -> tuple[LogState, bool]:
    """Return the state in a checkpoint, and whether it is one of ours.

    Raises:
        CheckpointCorruptionError: It is damaged.
    """
    try:
        text = decode(data, path=path)
        if not text.startswith(_SEAL):
            return _foreign(text, version=version, path=path), False
        return _ours(text, version=version, path=path), True
    except (LogCorruptionError, UnsafePathError) as error:
        raise CheckpointCorruptionError(version, path=path, reason=str(error)) from error


def _ours(text: bytes, *, version: int, path: str) -> LogState:
    head, separator, body = text[len(_SEAL) :].partition(_END_OF_SEAL)
    try:
        sealed = msgspec.json.decode(head, type=_Seal)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CheckpointCorruptionError(version, path=path, reason="its first line cannot be read") from error
    if not separator or sealed.version != version or _checksum(sealed, body) != sealed.sha256:
        raise CheckpointCorruptionError(version, path=path, reason="its checksum does not match")
    state = apply_commits(None, _columns(b"{" + body, version=version, path=path), first=version, last=version)
    rows = state.files.num_rows, state.removes.num_rows, state.skips.num_rows
    if rows != (sealed.files, sealed.removes, sealed.skips):
        raise CheckpointCorruptionError(version, path=path, reason=f"it has {rows} rows, which is not what was written")
    return state_from(
        sealed.facts, version=version, path=path, files=state.files, removes=state.removes, skips=state.skips
    )


def _foreign(text: bytes, *, version: int, path: str) -> LogState:
    columns = _columns(text, version=version, path=path)
    if not columns.metadatas:
        raise CheckpointCorruptionError(version, path=path, reason="it does not say what the table is")
    return apply_commits(None, columns, first=version, last=version)


def _columns(text: bytes, *, version: int, path: str) -> ActionColumns:
    """Return the actions of either form as columns."""
    try:
        whole = msgspec.json.decode(text, type=_Object)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        lines = text  # several objects, one a line; or damaged, which the parser of lines explains
    else:
        lines = b"\n".join(_lines(whole)) or text
    return decode_commits([(version, lines)], path_of=lambda _: path)


def _lines(whole: _Object) -> Iterator[bytes]:
    for key, raw in (("protocol", whole.protocol), ("metaData", whole.meta_data)):
        if bytes(raw) != _NULL:
            yield f'{{"{key}":'.encode() + _on_one_line(raw) + b"}"
    for kind, raws in ((Add, whole.add), (Remove, whole.remove), (Skip, whole.mergeskip)):
        before = f'{{"{kind.key}":'.encode()
        for raw in raws:
            yield before + _on_one_line(raw) + b"}"


def _on_one_line(raw: msgspec.Raw) -> bytes:
    """Return the text of a value without line ends, which can stand only between its tokens."""
    return bytes(raw).replace(b"\n", b" ").replace(b"\r", b" ")
