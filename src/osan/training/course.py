"""The course of a run: its starts, when its choice settles, and how many epochs that makes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from osan.training.settings import Settings


@dataclass(frozen=True)
class Course:
    """The epochs of a run, one after the other.

    A choice that settles on the best epoch can have several starts: training begins with fresh weights each
    time, goes on until the choice would settle, and then continues once, from the best epoch of all starts.

    Parameters
    ----------
    epochs
        The number of epochs from a start to the end.
    settles
        The first of them in which the choice is fixed; ``epochs`` if it never is.
    goes_back
        Whether training goes back to the best epoch when the choice settles.
    starts
        How many times training begins; once if it does not go back.

    Examples
    --------
    >>> course = Course(epochs=5, settles=2, goes_back=True, starts=3)
    >>> course.total
    9
    >>> [course.epoch(each) for each in range(course.total)]
    [0, 1, 0, 1, 0, 1, 2, 3, 4]
    >>> [each for each in range(course.total) if course.begins(each)]
    [0, 2, 4]
    """

    epochs: int
    settles: int
    goes_back: bool = False
    starts: int = 1

    @classmethod
    def of(cls, settings: Settings, learns: bool) -> Course:
        """The course of a run, whose model may learn to choose or not."""
        choice, training = settings.selection, settings.training
        # 0.28 * 50 is a little more than 14.
        settles = math.ceil(choice.settle * training.epochs - 1e-9)
        moves = learns and training.upstream_learning_rate > 0
        back = moves and choice.settle_on == "best" and 0 < settles < training.epochs
        return cls(training.epochs, settles, back, choice.starts if back else 1)

    @property
    def total(self) -> int:
        """The total number of epochs."""
        return self.epochs + self.before_last

    @property
    def before_last(self) -> int:
        """The number of epochs before the last start."""
        return (self.starts - 1) * self.settles

    def epoch(self, number: int) -> int:
        """The number of an epoch, counted from its start; a settled choice goes on from the last one."""
        return number % self.settles if number < self.before_last else number - self.before_last

    def begins(self, number: int) -> bool:
        """Whether training begins with fresh weights in this epoch."""
        return number <= self.before_last and self.epoch(number) == 0

    def goes_on(self, number: int) -> bool:
        """Whether training goes back to the best epoch before this one."""
        return self.goes_back and number == self.before_last + self.settles
