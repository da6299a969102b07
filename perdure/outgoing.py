"""Messages on their way to the workflow: checked, clean, their big blocks in the archive."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perdure.archive.claims import claim
from perdure.batches import parse_import, split_import
from perdure.contract import MESSAGE_BYTES
from perdure.entrance import parse_user_message, size_of
from perdure.errors import Refused
from perdure.handle import Handle
from perdure.memory.blocks import Block, ContentError, to_blocks

if TYPE_CHECKING:
    from perdure.archive import Archive


async def user_message(
    handle: Handle,
    archive: "Archive | None",
    content: str | list[Block],
    message_id: str,
    *,
    pinned: bool,
) -> dict[str, Any]:
    """The payload of a user's message. Raises Refused."""
    payload: dict[str, Any] = {"content": content, "id": message_id}
    if pinned:
        payload["pinned"] = True
    try:
        payload["content"] = await _claimed(handle, archive, to_blocks(content))
        parse_user_message(payload)
    except ContentError as error:
        raise Refused(str(error)) from None
    plain = payload["content"]
    if len(plain) == 1 and plain[0].keys() == {"type", "text"} and plain[0]["type"] == "text":
        payload["content"] = plain[0]["text"]
    return payload


async def import_batches(
    handle: Handle, archive: "Archive | None", messages: Sequence[Any]
) -> list[list[dict[str, Any]]]:
    """Messages spoken elsewhere, all of them checked, in batches that fit a payload each.

    Raises Refused.
    """
    parsed = parse_import(messages, stored=archive is not None)
    for number, message in enumerate(parsed):
        content = await _claimed(handle, archive, message.content)
        if (size := size_of(content)) > MESSAGE_BYTES:
            raise Refused(
                f"message {number + 1}: it has {size:,} bytes in many small blocks; "
                f"{MESSAGE_BYTES:,} are possible"
            )
        parsed[number] = message.model_copy(update={"content": content})
    return split_import(parsed)


async def _claimed(handle: Handle, archive: "Archive | None", blocks: list[Block]) -> list[Block]:
    if archive is None:
        return blocks
    return await claim(archive, handle.client.namespace, handle.id, blocks)
