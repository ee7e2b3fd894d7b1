"""Plans: what they run, in which order, and what is wrong with one."""

import pytest

from osan.errors import OsanError
from osan.experiments import recipes, settings_named
from osan.experiments.plans import plan_jobs, read_plan

PLAN = """
[[groups]]
runs = ["exp/gin/baseline", "exp/gin/imle/delete-1-edge/x3"]
seeds = "0-1"

[[groups]]
runs = ["zinc/gin/baseline", "zinc/gin/simple/delete-1-vertex/x3"]
seeds = "4"
set = {"network.width" = 64, "training.epochs" = 40}
name = "width-64"

[[groups]]
runs = ["exp/gin/baseline"]
seeds = "0-2"
"""


def written(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return path


def test_jobs_come_in_the_order_of_the_plan_and_once(tmp_path):
    jobs, done = plan_jobs(read_plan(written(tmp_path, PLAN)), tmp_path / "runs")
    assert done == 0
    assert [str(job) for job in jobs] == [
        "exp/gin/baseline seed 0",
        "exp/gin/imle/delete-1-edge/x3 seed 0",
        "exp/gin/baseline seed 1",
        "exp/gin/imle/delete-1-edge/x3 seed 1",
        "zinc/gin/baseline/width-64 seed 4",
        "zinc/gin/simple/delete-1-vertex/x3/width-64 seed 4",
        "exp/gin/baseline seed 2",
    ]
    changed = jobs[5].settings
    assert (changed.network.width, changed.training.epochs, changed.training.min_epochs) == (64, 40, 40)
    assert changed.selection.estimator == "simple"
    # A finished run is counted, not run.
    jobs[0].folder.mkdir(parents=True)
    (jobs[0].folder / "result.json").write_text("{}")
    again, done = plan_jobs(read_plan(tmp_path / "plan.toml"), tmp_path / "runs")
    assert (len(again), done) == (6, 1)


def test_runs_that_are_not_wanted_need_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, PLAN + '[[groups]]\nruns = ["molecules.csv/gin/baseline"]\n')
    with pytest.raises(OsanError, match=r"group 4: dataset: expected a file, got 'molecules.csv'"):
        read_plan(path)
    with pytest.raises(OsanError, match=r"group 4: dataset: expected a file, got 'molecules.csv'"):
        read_plan(path, "*baseline")
    assert len(plan_jobs(read_plan(path, "zinc*"), tmp_path / "runs", "zinc*")[0]) == 2


def test_some_runs_and_seeds_of_a_plan(tmp_path):
    groups, runs = read_plan(written(tmp_path, PLAN)), tmp_path / "runs"
    jobs, _ = plan_jobs(groups, runs, "exp/*", [1, 2, 4])
    assert [str(job) for job in jobs] == [
        "exp/gin/baseline seed 1",
        "exp/gin/imle/delete-1-edge/x3 seed 1",
        "exp/gin/baseline seed 2",
    ]
    with pytest.raises(OsanError, match=r"^only: expected the name of a run in the plan, .*, got 'qm9'$"):
        plan_jobs(groups, runs, "qm9")
    with pytest.raises(OsanError, match=r"^seeds: expected some that the plan has for runs named 'zinc'"):
        plan_jobs(groups, runs, "zinc", [0])


def test_every_recipe_is_found_by_its_key_and_by_its_parts(monkeypatch):
    known = dict(recipes())
    assert all(settings_named(key) == recipe.settings for key, recipe in known.items())
    # Read from the parts alone, as a run that the paper does not have.
    monkeypatch.setattr("osan.experiments.protocols.recipes", dict)
    assert all(settings_named(key) == recipe.settings for key, recipe in known.items())


@pytest.mark.parametrize("given", ["{}/data/mols.csv", "data/mols.csv", "./data/../data/mols.csv"])
def test_a_plan_for_data_of_ones_own(tmp_path, monkeypatch, given):
    """Paths are taken from the current folder and stored in full; the names of runs stay short."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mols.csv").write_text("smiles,logS,part\nC,1,train\n")
    (tmp_path / "data" / "parts.json").write_text("{}")
    (tmp_path / "labels.txt").write_text("1\n")
    path = given.format(tmp_path)
    text = f"""
[[groups]]
runs = [
    "{path}/gin/baseline", "{path}/gcn/imle-no-auxiliary/delete-2-vertices/x3", "{path}/gin/all/delete-1-edge"
]
seeds = "0-1"
set = {{"data.targets" = ["logS"], "data.split" = "data/parts.json"}}
name = "mine"

[[groups]]
runs = ["{path}/gin/baseline"]
seeds = "0"
set = {{"data.targets" = ["logS"], "data.split" = "part"}}
"""
    jobs, _ = plan_jobs(read_plan(written(tmp_path, text)), tmp_path / "runs")
    assert [str(job) for job in jobs] == [
        "mols.csv/gin/baseline/mine seed 0",
        "mols.csv/gcn/imle-no-auxiliary/delete-2-vertices/x3/mine seed 0",
        "mols.csv/gin/all/delete-1-edge/mine seed 0",
        "mols.csv/gin/baseline/mine seed 1",
        "mols.csv/gcn/imle-no-auxiliary/delete-2-vertices/x3/mine seed 1",
        "mols.csv/gin/all/delete-1-edge/mine seed 1",
        "mols.csv/gin/baseline/data.split=part,data.targets=logS seed 0",
    ]
    assert {job.settings.data.dataset for job in jobs} == {str(tmp_path / "data" / "mols.csv")}
    assert {job.settings.data.split for job in jobs} == {str(tmp_path / "data" / "parts.json"), "part"}
    assert jobs[1].settings.selection.policy == "delete 2 vertices x 3"
    assert jobs[1].settings.network.conv == "gcn"
    assert jobs[2].settings.selection.policy == "delete 1 edge x all"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[[groups]]\nruns = ['nowhere.csv/gin/baseline']",
            "dataset: expected a file, got 'nowhere.csv', which does not exist",
        ),
        (
            "[[groups]]\nruns = ['a/b.csv/gin/imle/delete-1-edge/x3']",
            "got 'a/b.csv'",
        ),
        (
            "[[groups]]\nruns = ['exp/gin/baseline']\nset = {'data.dataset' = 'expp'}",
            "got 'expp'; did you mean 'exp'?",
        ),
        ("[[groups]]\nruns = ['a/b.csv/gin/baselin']", "unknown recipe 'a/b.csv/gin/baselin'"),
        (
            "[[groups]]\nruns = ['a/b.csv/gn/baseline']",
            "network: expected gin, gcn, pna or an architecture for a/b.csv, got 'gn'",
        ),
        ("groups = [", "not valid TOML"),
        ("[[group]]\nruns = []", "unknown key 'group'; did you mean 'groups'"),
        ("[[groups]]\nruns = ['exp/gin/baselin']", "group 1: unknown recipe 'exp/gin/baselin'; did you mean"),
        ("[[groups]]\nruns = ['exp/gin/imle/delete-1-vertx/x3']", "group 1: policy"),
        (
            "[[groups]]\nruns = ['exp/gin/baseline']\nseeds = '3-1'",
            "plan.toml, group 1: seeds: expected ranges from low to high, got '3-1'",
        ),
        (
            "[[groups]]\nruns = ['exp/gin/baseline']\nset = {'network.widht' = 3}",
            "did you mean 'network.width'",
        ),
        (
            PLAN
            + "[[groups]]\nruns = ['zinc/gin/baseline']\nset = {'network.width' = 3}\nname = 'width-64'\n",
            "group 4: zinc/gin/baseline/width-64: expected the same settings as above, got network.width: 3",
        ),
        (
            "[[groups]]\nrun = ['exp/gin/baseline']",
            "unknown key 'groups.0.run'; did you mean 'groups.0.runs'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, text, message):
    with pytest.raises(OsanError) as caught:
        read_plan(written(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
