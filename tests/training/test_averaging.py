"""The moving average of weights, against its definition, and in a run that stops and goes on."""

import pytest
import torch
from torch import nn

from osan.training.averaging import MovingAverage
from osan.training.folder import CHECKPOINT, RESULT
from osan.training.run import load_model, train


def test_average_by_its_definition():
    torch.manual_seed(0)
    model, average, wanted = nn.BatchNorm1d(3), MovingAverage(0.8), None
    for step in range(12):
        model(torch.randn(5, 3))
        nn.init.normal_(model.weight)
        average.update(model)
        now = {name: tensor.double() for name, tensor in model.state_dict().items()}
        decay = min(0.8, (1 + step) / (10 + step))
        wanted = now if wanted is None else {k: decay * wanted[k] + (1 - decay) * now[k] for k in now}
    last = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with average.used(model):
        for name in ("weight", "running_mean", "running_var"):
            torch.testing.assert_close(model.state_dict()[name].double(), wanted[name])
        assert model.num_batches_tracked == 12
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, last[name])


class Stop(Exception):
    """Ends a run after an epoch."""


def test_a_run_that_goes_on_has_the_same_average(small, outcome, tmp_path, monkeypatch):
    settings = small(**{"training.average": 0.9, "training.epochs": 4, "training.watch_test": True})
    result = train(settings, tmp_path / "whole", progress=False)
    assert result.best_test is not None

    from osan.training.callbacks import Saver

    save = Saver.on_train_epoch_end

    def stopping(self, trainer, module):
        save(self, trainer, module)
        if trainer.current_epoch == 1:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Saver, "on_train_epoch_end", stopping)
        with pytest.raises(Stop):
            train(settings, tmp_path / "parts", progress=False)
    assert (tmp_path / "parts" / CHECKPOINT).is_file()
    assert not (tmp_path / "parts" / RESULT).exists()
    train(settings, tmp_path / "parts", resume=True, progress=False)
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")

    # What is kept is the average, not the weights of a step.
    plain = train(settings.changed({"training.average": None}), tmp_path / "plain", progress=False)
    assert plain.value != result.value
    assert load_model(tmp_path / "whole")[0].average is not None
