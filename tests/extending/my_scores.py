"""A loss and two metrics: ``training.loss = "my_scores:fourth"``, ``data.metric = "my_scores:worst"``."""

from torchmetrics import PearsonCorrCoef


def fourth(prediction, y):
    """The fourth power of an error, or of 1 minus the probability of the class."""
    if y.is_floating_point():
        return (prediction - y) ** 4
    return (1 - prediction.softmax(1).gather(1, y[:, None])[:, 0]) ** 4


def worst(predicted, target):
    """The largest error."""
    return (predicted - target).abs().max()


worst.higher_is_better = False


class Pearson(PearsonCorrCoef):
    """The original leaves open what is better."""

    higher_is_better = True


def mean(prediction, y):
    """No loss: one number for all."""
    return (prediction - y).mean()
