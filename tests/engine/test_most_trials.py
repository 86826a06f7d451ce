"""`most_trials`: a mechanism or a dataset with fewer trials than the others of its run."""

from __future__ import annotations

import pytest

import dpbench
from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.engine.shards import Shard, trials_of
from dpbench.errors import UserError

RUN = {"dataset": ["trajectory"], "mechanism": ["lpa", "alpa"], "epsilon": [1.0]}


@pytest.fixture
def run(tmp_path):
    return dpbench.run(results=tmp_path, scale="smoke", trials=4, jobs=1, most_trials={"alpa": 2}, **RUN)


def test_each_mechanism_has_its_number_of_trials(run):
    assert run.planned == 6
    assert run.trials().groupby("mechanism").size().to_dict() == {"lpa": 4, "alpa": 2}
    assert not any("not finished" in remark for remark in run.remarks())
    assert run.summary().set_index("mechanism")["trials"].to_dict() == {"lpa": 4, "alpa": 2}
    assert run.describe_trials() == "2 to 4 trials per setting"


def test_the_stored_run_has_them_too(run, tmp_path):
    assert dpbench.load(tmp_path, run.name).repetitions_by_id() == run.repetitions_by_id()


def test_more_trials_that_are_stored_are_not_shown(run, tmp_path):
    dpbench.run(results=tmp_path, scale="smoke", trials=4, jobs=1, name="whole", **RUN)
    assert len(dpbench.load(tmp_path, run.name).trials()) == 6


def test_it_never_asks_for_more_than_the_run(tmp_path):
    settings = {"results": tmp_path, "trials": 4, "most_trials": {"alpa": 100}, **RUN}
    plan = make_plan(compose(None, "smoke", settings))
    assert {*plan.run.repetitions_by_id().values()} == {4}


def test_a_dataset_may_have_fewer_too(tmp_path):
    """The smaller number counts where mechanism and dataset both have one."""
    settings = {**RUN, "dataset": ["trajectory", "netflix"], "results": tmp_path, "trials": 9}
    plan = make_plan(compose(None, "smoke", {**settings, "most_trials": {"alpa": 5, "netflix": 7}}))
    found = {(s.dataset.name, s.mechanism.name): plan.run.repetitions_of(s) for s in plan.run.settings}
    names = [(dataset, mechanism) for dataset in ("trajectory", "netflix") for mechanism in ("lpa", "alpa")]
    assert found == dict(zip(names, (9, 5, 7, 5), strict=True))


def test_shards_divide_them(tmp_path):
    plan = make_plan(compose(None, "smoke", {"results": tmp_path, "trials": 12, "most_trials": {"alpa": 4}, **RUN}))
    parts = [trials_of(plan, Shard(number, 3)) for number in (1, 2, 3)]
    for key, whole in trials_of(plan).items():
        assert sorted(trial for part in parts for trial in part[key]) == list(whole)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"apla": 2}, "did you mean 'alpa'"),
        ({"alpa": 0}, "most_trials.alpa=0"),
        ({"gs": 2}, "gs is not in this run"),
        ({"netflix": 2}, "netflix is not in this run"),
        (7, "expected mechanisms or datasets with numbers of trials"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, given, told):
    with pytest.raises(UserError, match=told):
        compose(None, "smoke", {"results": tmp_path, "most_trials": given, **RUN})


def test_the_change_is_told():
    assert any("gs_mean 3" in change for change in compose("gs/fig9", "smoke", {"most_trials": {"gs_mean": 3}}).changes)


def test_other_readings_and_worlds_may_have_fewer(tmp_path):
    settings = {
        "results": tmp_path,
        "trials": 9,
        "case_trials": {"trajectory": 4},
        "mechanism": ["lpa", "gs"],
        "epsilon": [1.0],
    }
    words = {**settings, "dataset": ["trajectory"], "reading": "all", "world": "all"}
    run = make_plan(compose("gs/fig9", "smoke", words)).run
    found = {(s.dataset.world, s.mechanism.params.get("scale_up", "")): run.repetitions_of(s) for s in run.settings}
    own = {key for key, trials in found.items() if trials == 9}
    assert own == {("", "")}
    assert {found[key] for key in found if key not in own} == {4}
    assert {world for world, _ in found} == {"", "even", "uneven", "broad"}
    assert {factor for _, factor in found} >= {"", "mean_row", "mean_all"}
    with pytest.raises(UserError, match="case_trials has no effect without other readings or worlds"):
        compose("gs/fig9", "smoke", {**settings, "dataset": ["trajectory"]})
