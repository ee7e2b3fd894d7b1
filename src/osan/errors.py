"""The errors of osan: what was wrong, where, and what would be right."""


class OsanError(ValueError):
    """A request that cannot be met, worded for the person who made it.

    The command line prints its message as one line and exits with code 2.
    """


class TooLarge(OsanError):
    """Work that would need more memory than is free, or than was allowed; nothing was allocated."""


class Unfinished(OsanError):
    """A run that is not finished: resume it, or choose another folder.

    Parameters
    ----------
    message
        What was asked for.
    folder
        The folder of the run; the command line adds how to resume it.
    """

    def __init__(self, message: str, folder: object) -> None:
        super().__init__(message)
        self.folder = str(folder)


def one_line(error: BaseException) -> str:
    """An error in one line, with its type unless the message was written for users.

    >>> one_line(KeyError("a"))
    "KeyError: 'a'"
    """
    text, kind = " ".join(str(error).split()), type(error).__name__
    return text if isinstance(error, OsanError) else f"{kind}: {text}" if text else kind
