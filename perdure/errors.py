"""What can go wrong, as one tree: catch `PerdureError` for everything that perdure reports.

PerdureError
├── SettingsError         a setting has a wrong value
├── ServerError           an embedded server cannot be started or used
├── TemporalUnreachable   no Temporal answers at the address
├── NoWorker              Temporal answers, and nobody serves the task queue
├── ConversationNotFound  there is no conversation of that id
├── ConversationClosed    it has ended
├── ConversationExists    it runs already, and was to be started
├── ConversationRunning   it runs, and was to be removed
├── Refused               what was sent was not taken
├── TurnFailed            the message was taken, and there is no reply
└── ArchiveError          the archive refuses what it was given or asked
    ├── ArchiveUnavailable    its database does not answer now; the same call may succeed later
    ├── ArchiveMissing        this client was given none, and what was asked stands only there
    ├── ArchiveTooNew         its schema was made by a newer perdure
    ├── ArchiveConflict       it holds something else under the same key
    └── ArchiveShared         a fork still needs what should be deleted
"""


class PerdureError(Exception):
    """Base of them all; its text is one sentence for the user, with what to do about it."""


class SettingsError(PerdureError):
    """A setting has a wrong value; the text names the setting and what would be right."""


class ServerError(PerdureError):
    """An embedded server cannot be started, or its data directory cannot be used."""


class TemporalUnreachable(PerdureError):
    """No Temporal answers at the address that the text names."""


class ConversationNotFound(PerdureError):
    """There is no conversation of that id."""


class ConversationClosed(PerdureError):
    """The conversation has ended and takes no more messages."""


class ConversationExists(PerdureError):
    """A conversation of that id runs already, so a start configuration cannot be used."""


class ConversationRunning(PerdureError):
    """The conversation runs, and what was asked is for one that has ended."""


class NoWorker(PerdureError):
    """Temporal answers, but no worker serves the task queue."""


class Refused(PerdureError):
    """The conversation did not take what it was sent; the text says what was wrong."""


class TurnFailed(PerdureError):
    """The message was taken, and there is no reply to it; the text says why."""


class ModelError(PerdureError):
    """A model could not be asked, or gave no usable answer.

    `retryable` says whether the same call may succeed later, `retry_after` after how many
    seconds at the earliest, if the provider said so (capped at 60: a longer wait is for the
    caller to decide). `status` is the HTTP status, None if there was no answer; an error inside
    a stream has the status that belongs to its kind. `kind` is the provider's word, such as
    `overloaded_error`, or one of ours: `connection`, `timeout`, `cut_off`, `broken_answer`,
    `not_the_api`, `no_key`, `over_window`, `bad_summary`.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        retryable: bool,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status


class RequestRefused(ModelError):
    """The provider will never take this request: HTTP status 400, 413 or 422, or too large."""


class ArchiveError(PerdureError):
    """The archive refuses what it was given or asked; trying again does not help."""


class ArchiveUnavailable(ArchiveError):
    """The archive's database does not answer now; the same call may be repeated safely."""


class ArchiveMissing(ArchiveError):
    """This client was given no archive, and what was asked for stands only there."""


class ArchiveTooNew(ArchiveError):
    """The archive's schema was made by a newer perdure than this one."""


class ArchiveConflict(ArchiveError):
    """The archive holds something else under the same key; nothing was changed.

    `noun` says what differs ("message", "observation", "ledger row", "reply", "chain") and
    `key` which one: the lowest that differs, so a message's seq, an observation's id, a row's n
    or a turn.
    """

    def __init__(self, text: str, *, noun: str, key: int | str) -> None:
        super().__init__(text)
        self.noun = noun
        self.key = key


class ArchiveShared(ArchiveError):
    """A conversation cannot be deleted while a fork elsewhere reads its past from it."""
