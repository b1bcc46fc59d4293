"""``lightmeter train``: folders, runs that read back, going on after a kill, and mistakes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.cli import main
from lightmeter.errors import LightmeterError
from lightmeter.learn.data import folds_of, generated
from lightmeter.learn.outcome import Outcome
from lightmeter.learn.settings import Settings, differentiable_user


def write_svm(data, path: Path) -> None:
    lines = []
    for i, row in enumerate(data.features):
        listed = " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row) if v)
        lines.append(f"{int(data.grade[i])} qid:{data.queries[data.owner[i]]} {listed}\n")
    path.write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def svm(tmp_path_factory):
    data, _ = generated(15, (4, 9), rng=2)
    path = tmp_path_factory.mktemp("svm") / "data.svm"
    write_svm(data, path)
    return path


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    """Enough documents for trees to split, and few features."""
    data, _ = generated(24, (8, 16), rng=2)
    features = np.where(np.isin(data.feature_ids, [1, 2, 6, 130]), data.features, 0)
    path = tmp_path_factory.mktemp("more") / "data.svm"
    write_svm(dataclasses.replace(data, features=features), path)
    return path


@pytest.fixture
def train(capfdbinary, tmp_path, monkeypatch):
    """The command in this process: its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIGHTMETER_DEBUG", raising=False)

    def run(*arguments):
        capfdbinary.readouterr()
        code = main(["train", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def read_run(path: Path) -> list[tuple[str, float]]:
    """Query and score of each line."""
    return [(line.split()[0], float(line.split()[4])) for line in path.read_text().splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in ("manifest.json", "model.pt")
    }


def test_folds():
    """Each query is tested once and validates once; 60, 20, 20."""
    folds = folds_of(23, 5, 1)
    assert sorted(np.concatenate([f.test for f in folds]).tolist()) == list(range(23))
    assert sorted(np.concatenate([f.valid for f in folds]).tolist()) == list(range(23))
    for f in folds:
        assert sorted(np.concatenate([f.train, f.valid, f.test]).tolist()) == list(range(23))
    with pytest.raises(LightmeterError, match="3 queries make no 5 folds"):
        folds_of(3, 5)
    with pytest.raises(LightmeterError, match="1 query makes no 3 folds"):
        folds_of(1, 3)


def test_training_and_what_is_written(torch, train, svm, tmp_path):
    """Runs read back with the values of the table; models score; a loss is added later; the same for a seed."""
    options = ["--group-feature", 130, "--bins", "130=1000,10000", "--folds", 3, "--epochs", 2, "--seed", 4]
    code, out, err = train(svm, "--loss", "ee", "--loss", "pairwise", *options, "-o", "one", "-f", "jsonl")
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    areas = {(r["loss"], r["measure"]): r["value"] for r in rows if r["kind"] == "area"}
    assert set(areas) == {(a, b) for a in ("ee", "pairwise") for b in ("EEAUC", "EEAUC group", "EEAUC parity")}
    pairs = [r for r in rows if r["kind"] == "pair"]
    assert len(pairs) == 3
    assert pairs[0]["p_adjusted"] >= pairs[0]["p"]
    assert "lambda=0.5" in err
    told = [line for line in err.splitlines() if "fold" in line and "validation EEAUC" in line]
    assert [line.split(":")[1] for line in told] == [
        f" {a}, fold {k} of 3" for a in ("ee", "pairwise") for k in (1, 2, 3)
    ]
    assert all(" of 2, " in line and line.endswith(" s in all") for line in told)
    folder = tmp_path / "one"
    collection = lm.load(
        run={"ee": folder / "runs/ee.txt"}, qrels=folder / "qrels.txt", groups=str(folder / "groups.csv")
    )
    swept = lm.sweep(collection, "PlackettLuce(scores='raw')", by=[None, "feature130"], depth=None, resamples=2)
    assert swept.area(by=None) == pytest.approx(areas["ee", "EEAUC"], abs=1e-9)
    assert swept.area(by="feature130") == pytest.approx(areas["ee", "EEAUC group"], abs=1e-9)
    from lightmeter.learn.data import LetorData
    from lightmeter.learn.network import Trained

    data = LetorData.read(svm)
    fold = folds_of(15, 3, 4)[0]
    model = Trained.load(str(folder / "models/ee/fold1/model.pt"))
    scores = np.load(folder / "models/ee/fold1/scores.npy")
    assert model.scores(data, fold.test) == pytest.approx(scores, abs=1e-6)
    run = read_run(folder / "runs/ee.txt")
    mine = [score for query, score in run if query in {data.queries[q] for q in fold.test}]
    assert sorted(mine) == sorted(scores.tolist())
    assert all(a[0] != b[0] or a[1] >= b[1] for a, b in itertools.pairwise(run))
    assert "Holm over all pairs" in (folder / "table.md").read_text("utf-8")
    before = contents(folder)
    code, _, err = train(svm, "--loss", "ee", "--loss", "pairwise", *options, "-o", "two", "-q")
    assert (code, err) == (0, "")
    assert contents(tmp_path / "two") == before
    code, out, err = train(svm, "--loss", "ee", "--loss", "parity", *options, "-o", "one", "-f", "csv")
    assert code == 0
    done = [json.loads((folder / f"models/ee/fold{k}/done.json").read_text()) for k in (1, 2, 3)]
    for k, kept in enumerate(done, 1):
        line = f"ee, fold {k} of 3: validation EEAUC {kept['area']:.4f} at epoch {kept['best']} of 2, trained before"
        assert line in err
    assert "parity, fold 3 of 3" in err
    assert "parity" in out
    assert before.items() - contents(folder).items() <= {(k, v) for k, v in before.items() if "/" not in k}
    code, _, err = train(svm, *options[:-1], 5, "-o", "one")
    assert code == 2
    assert "other data or settings (seed: 4 there, 5 here)" in err


def test_a_loss_is_added(torch, train, svm, tmp_path):
    """Tables have the losses of before too, as if asked for together; one that is not trained whole is left out."""
    options = ["--folds", 3, "--epochs", 2, "--lambda", "0.3", "--lambda", "0.6", "-o"]
    code, _, err = train(svm, *options, "one", "--loss", "ee")
    assert code == 0, err
    assert "of before" not in err
    code, _, err = train(svm, *options, "one", "--loss", "pairwise")
    assert code == 0, err
    assert "note: the tables keep what one has of before: ee\n" in err
    assert train(svm, *options, "two", "--loss", "ee", "--loss", "pairwise")[0] == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    (tmp_path / "one/runs/ee.txt").unlink()
    assert train(svm, *options, "one", "--loss", "pairwise", "-q")[0] == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    (tmp_path / "one/models/ee/fold2/lambda0.6/done.json").unlink()
    code, out, err = train(svm, *options, "one", "--loss", "pairwise", "-f", "jsonl")
    assert code == 0
    assert {json.loads(line).get("loss") for line in out.splitlines()} == {"pairwise"}
    assert "note: ee is not in the tables, as one has not all of its models: --loss ee goes on\n" in err


def test_goes_on_after_a_kill(torch, train, svm, tmp_path):
    """A process killed in the middle of a model: the same bytes as one that was left alone, and models equal in all."""
    options = [
        "--folds",
        "3",
        "--loss",
        "ee-gumbel",
        "--epochs",
        "40",
        "--patience",
        "40",
        "--samples",
        "2",
        "-q",
        "-o",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "lightmeter", "train", str(svm), *options, "cut"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    checkpoint = cut / "models" / "ee-gumbel" / "fold1" / "checkpoint.pt"
    until = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoint.exists()
    assert not (cut / "table.md").exists()
    for name in ("cut", "whole"):
        code, _, err = train(svm, *options, name)
        assert (code, err) == (0, "")
    left = {k: v for k, v in contents(cut).items() if not k.endswith(".part")}
    assert left == contents(whole)
    from lightmeter.learn.network import Trained

    for k in (1, 2, 3):
        one, other = (Trained.load(str(p / f"models/ee-gumbel/fold{k}/model.pt")) for p in (cut, whole))
        assert (one.history, one.best) == (other.history, other.best)
        assert (one.normalisation.mean == other.normalisation.mean).all()
        assert (one.normalisation.deviation == other.normalisation.deviation).all()
        states = one.network.state_dict(), other.network.state_dict()
        assert list(states[0]) == list(states[1])
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_an_interrupted_training_is_gone_on_with(torch):
    """Stopped after any epoch, early stopping included: history and weights are those of one training."""
    from lightmeter.learn.network import train_network

    data, _ = generated(12, (4, 9), rng=7)
    train, valid = np.arange(8), np.arange(8, 12)
    settings = Settings(epochs=8, patience=3, batch=3, hidden=8)
    whole = train_network(data, train, valid, "ee-gumbel", settings)

    class Stop(Exception):
        pass

    def stop(at):
        def step(epoch, *_):
            if epoch == at:
                raise Stop

        return step

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/checkpoint.pt"
        for at in (1, 3):
            with pytest.raises(Stop):
                train_network(data, train, valid, "ee-gumbel", settings, checkpoint=path, step=stop(at))
        resumed = train_network(data, train, valid, "ee-gumbel", settings, checkpoint=path)
        again = train_network(data, train, valid, "ee-gumbel", settings, checkpoint=path)
        for made in (resumed, again):
            assert made.history == whole.history
            assert (made.scores(data, valid) == whole.scores(data, valid)).all()
        with pytest.raises(LightmeterError, match="other data or settings"):
            train_network(data, train, valid, "ee", settings, checkpoint=path)
        Path(path).write_bytes(b"nothing")
        with pytest.raises(LightmeterError, match="no checkpoint"):
            train_network(data, train, valid, "ee-gumbel", settings, checkpoint=path)
    assert whole.best == 1 + int(np.argmax([row["area"] for row in whole.history]))
    assert len(whole.history) in (8, whole.best + 3)


@pytest.mark.parametrize("model", ["mlp", "lightgbm"])
def test_another_reader_to_train_for(torch, lightgbm, model):
    """The model is that of the other reader, the areas that stop it those of the reader told."""
    from lightmeter.learn.areas import curve_areas
    from lightmeter.learn.network import train_network
    from lightmeter.learn.trees import train_trees

    data, _ = generated(24, (8, 16), rng=2)
    learn, told = (np.arange(16), np.arange(16, 24)), {}
    make = train_trees if model == "lightgbm" else train_network
    users = {"both": ("RBP(p=0.5)", "RBP(p=0.9)"), "patient": ("RBP(p=0.9)", None), "hasty": ("RBP(p=0.5)", None)}
    for name, (user, other) in users.items():
        settings = Settings(model=model, user=user, train_user=other, epochs=1, rate=0.05, hidden=8)
        made = make(data, *learn, "ee", settings)
        told[name] = made.scores(data, learn[1]), made.history[0]["area"]
    scores, area = told["both"]
    assert scores.tolist() == told["patient"][0].tolist()
    assert scores.tolist() != told["hasty"][0].tolist()
    judged = data.padded(data.grade, learn[1])
    placed = np.full(judged.shape, np.nan)
    placed[~np.isnan(judged)] = scores
    assert area == pytest.approx(curve_areas(placed, judged, user="RBP(p=0.5)").mean, abs=1e-6)
    assert abs(area - told["patient"][1]) > 1e-3


def test_the_other_reader_on_the_command_line(torch, train, svm, tmp_path):
    """It is told, kept, and refused where it is none; a loss that does not look at exposure has no use for it."""
    options = ["--folds", 3, "--epochs", 1, "--train-user", "RBP(p=0.9)", "-o"]
    code, _, err = train(svm, *options, "one")
    assert code == 0, err
    assert "user=RBP(p=0.5) train-user=RBP(p=0.9)" in err
    assert "plays no part" not in err
    assert json.loads((tmp_path / "one/settings.json").read_text())["settings"]["train_user"] == "RBP(p=0.9)"
    assert "--train-user plays no part" in train(svm, "--loss", "pairwise", *options, "two")[2]
    code, _, err = train(svm, "--folds", 3, "--epochs", 1, "-o", "one")
    assert code == 2
    assert "other data or settings" in err
    code, _, err = train(svm, "--train-user", "DCG", "-o", "three")
    assert code == 2
    assert "Accepted" in err


def test_trees(lightgbm, train, more, tmp_path):
    """Boosted trees, the best of several lambdas; two trainings are the same."""
    losses = [x for loss in ("parity", "pairwise") for x in ("--loss", loss)]
    options = [*losses, "--group-feature", 130, "--bins", "130=1000,10000", "--folds", 3, "--epochs", 3]
    for name in ("one", "two"):
        given = ["--lambda", "0.3", "--lambda", "0.7", "-o", name, "-q", "-f", "markdown"]
        code, out, err = train(more, "--model", "lightgbm", *options, *given)
        assert (code, err) == (0, "")
        assert "EEAUC parity" in out
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    areas = [json.loads((tmp_path / f"one/models/parity/fold1/lambda{v}/done.json").read_text()) for v in (0.3, 0.7)]
    best = int(np.argmax([a["area"] for a in areas]))
    scores = np.load(tmp_path / f"one/models/parity/fold1/lambda{(0.3, 0.7)[best]}/scores.npy")
    assert len(set(scores.tolist())) > 2
    assert set(scores.tolist()) <= {score for _, score in read_run(tmp_path / "one/runs/parity.txt")}
    code, _, err = train(more, "--model", "lightgbm", "--loss", "ee-gumbel", "-o", "three")
    assert code == 2
    assert "needs a network" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no folder is given"),
        (["-o", "x", "--loss", "eee"], "Did you mean 'ee'"),
        (["-o", "x", "--model", "tree"], "Accepted: mlp, lightgbm"),
        (["-o", "x", "--loss", "parity"], "needs groups"),
        (["-o", "x", "--lambda", "2"], "--lambda is '2'. Accepted: a number from 0 to 1"),
        (["-o", "x", "--lambda", "a"], "--lambda is 'a'"),
        (["-o", "x", "--folds", "2"], "--folds is '2'. Accepted: a whole number of at least 3"),
        (["-o", "x", "--folds", "16"], "15 queries make no 16 folds"),
        (["-o", "x", "--user", "DCG"], "no gradient"),
        (["-o", "x", "--group-feature", "130"], "--bins 130=1000,10000"),
        (["-o", "x", "--group-feature", "999", "--bins", "999=1"], "there is no feature 999"),
        (["-o", "x", "--bins", "130=1"], "without --group-feature"),
        (["-o", "x", "--normalise", "z"], "Accepted: zscore"),
        (["-o", "x", "--dropout", "1"], "--dropout is '1'"),
        (["-o", "x", "--learning-rate", "0"], "--learning-rate is '0'"),
        (["-o", "x", "--groups", "none.csv"], "none.csv"),
        (["-o", "missing/x"], "there is no folder"),
        (["-o", "full"], "not empty, and no training of ours"),
        (["-o", "x", "-f", "latex"], "--format is 'latex'"),
    ],
)
def test_mistakes(torch, train, svm, tmp_path, options, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("1")
    code, out, err = train(svm, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "x").exists()


def test_data_that_teaches_nothing(torch, train, tmp_path):
    """No relevant document; NaN; single documents; one constant feature trains to a defined result."""
    (tmp_path / "zero.svm").write_text("".join(f"0 qid:{q} 1:{q}\n" for q in range(6)))
    code, _, err = train("zero.svm", "-o", "x", "--folds", 3)
    assert code == 2
    assert "no document has a grade above 0" in err
    (tmp_path / "nan.svm").write_text("1 qid:1 1:nan\n")
    code, _, err = train("nan.svm", "-o", "x")
    assert code == 2
    assert "nan.svm:1: feature 1 is nan" in err
    (tmp_path / "single.svm").write_text("".join(f"1 qid:{q} 1:{q}\n" for q in range(6)))
    code, _, err = train("single.svm", "-o", "x", "--folds", 3, "--epochs", 2)
    assert code == 2
    assert "no validation query has an area" in err
    (tmp_path / "level.svm").write_text("".join(f"{d % 2} qid:{q} 1:5\n" for q in range(6) for d in range(3)))
    code, out, err = train("level.svm", "-o", "y", "--folds", 3, "--epochs", 2, "-f", "jsonl")
    assert code == 0, err
    assert json.loads(out.splitlines()[0])["value"] > 0
    # of one loss there are no pairs to explain
    assert "Holm" not in (tmp_path / "y/table.md").read_text("utf-8")


@pytest.mark.parametrize("model", ["mlp", "lightgbm"])
def test_a_fold_without_a_known_group(torch, lightgbm, train, more, tmp_path, model):
    """Groups of one query only: the folds that validate by others have no area of parity, which is said."""
    (tmp_path / "groups.csv").write_text("doc,a\n" + "".join(f"1.{i},{'fm'[i % 2]}\n" for i in range(1, 9)))
    options = ["--groups", "groups.csv", "--loss", "parity", "--epochs", 1, "--folds", 3, "-q"]
    code, out, err = train(more, "--model", model, *options, "-o", "x")
    assert (code, out) == (2, "")
    assert "no validation query has an area (parity)" in err
    assert "defect" not in err


def test_grades_that_binary_leaves(torch, train, tmp_path):
    """Nothing relevant, or everything, is refused before anything is written; the table is of the raw grades."""
    (tmp_path / "data.svm").write_text("".join(f"{d % 3} qid:{q} 1:{d * q % 5}\n" for q in range(6) for d in range(4)))
    options = ["data.svm", "--folds", 3, "--epochs", 1, "-o"]
    for given, said in (
        (9, "data.svm: --binary 9 leaves no document relevant, as the highest grade is 2"),
        (0, "grade 0"),
    ):
        code, out, err = train(*options, "x", "--binary", given)
        assert (code, out) == (2, "")
        assert said in err
        assert "Accepted: a grade above 0, at most 2" in err
        assert not (tmp_path / "x").exists()
    areas = {}
    for name, more in (("raw", []), ("binary", ["--binary", 2])):
        code, _, err = train(*options, name, "--loss", "pointwise", *more)
        assert code == 0, err
        areas[name] = (tmp_path / name / "table.md").read_bytes(), (tmp_path / name / "qrels.txt").read_bytes()
    assert areas["raw"] == areas["binary"]


def test_a_document_twice_in_a_query(torch, train, tmp_path):
    """Refused with line and id, plain, compressed or by sizes; the same docid in two queries is right."""
    import gzip

    head = "# a note\n1 qid:1 1:1 # docid = a\n\n0 qid:1 1:2 # docid = b\n"
    text = head + "1 qid:2 1:3 # docid = a\n0 qid:2 1:1 # docid = c\n0 qid:2 1:2 # docid = a\n"
    (tmp_path / "data.svm").write_text(text)
    (tmp_path / "data.svm.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "sizes.svm").write_text(text.replace("qid:1 ", "").replace("qid:2 ", ""))
    (tmp_path / "sizes.svm.query").write_text("2\n3\n")
    (tmp_path / "mixed.svm").write_text(text.replace(" # docid = b", ""))
    for name in ("data.svm", "data.svm.gz", "sizes.svm", "mixed.svm"):
        code, out, err = train(name, "--folds", 3, "-o", "x")
        assert (code, out) == (2, "")
        assert f"{name}:7: the document 'a' comes again in query '2', first in line 5. Accepted: each docid once" in err
        assert not (tmp_path / "x").exists()
    from lightmeter.learn.data import LetorData

    (tmp_path / "good.svm").write_text(text.rsplit("0 qid", 1)[0])
    assert LetorData.read(tmp_path / "good.svm").docs.to_list() == ["a", "b", "a", "c"]
    (tmp_path / "some.svm").write_text("1 qid:1 1:1 # docid = a\n0 qid:1 1:2\n1 qid:2 1:1 # docid = a\n")
    assert LetorData.read(tmp_path / "some.svm").docs.to_list() == ["1.1", "1.2", "2.1"]


def test_grades_above_the_highest_of_err(torch, train, tmp_path):
    """Refused before anything is written, with option, line, grade and remedy; where it plays no part it is none."""
    (tmp_path / "data.svm").write_text(
        "# a note\n" + "".join(f"{d % 4} qid:{q} 1:{d * q % 5}\n" for q in range(6) for d in range(4))
    )
    options = ["data.svm", "--folds", 3, "--epochs", 1, "-o"]
    for option in ("--user", "--train-user"):
        code, out, err = train(*options, "x", option, "ERR(max_grade=1)")
        assert (code, out) == (2, "")
        assert err == (
            f"lightmeter: error: data.svm:4: the grade is 2, above the highest of {option} 'ERR(max_grade=1)'. "
            f"Accepted: max_grade of at least 3, the highest grade there is. Write {option} 'ERR(max_grade=3)'.\n"
        )
        assert not (tmp_path / "x").exists()
    for name, more in (("binary", ["--binary", 2]), ("pointwise", ["--loss", "pointwise"])):
        code, _, err = train(*options, name, "--train-user", "ERR(max_grade=1)", *more)
        assert code == 0, err
    from lightmeter.learn.data import LetorData

    with pytest.raises(LightmeterError, match=r"^the grade is 2, above"):
        LetorData.of([[1.0], [2.0]], [2, 0], [2]).check_user("--user", differentiable_user("ERR(max_grade=1)"))


def test_outcome_by_hand():
    """Differences are of the queries' own areas, on queries that all losses define."""
    data, utility = generated(12, (4, 9), rng=3)
    scores = {"a": utility, "b": -utility}
    found = Outcome.of(data, scores, resamples=2)
    own = found.queries.filter(pl.col("measure") == "EEAUC").pivot("loss", index="query", values="value").drop_nulls()
    row = found.pairs.row(0, named=True)
    assert row["difference"] == pytest.approx((own["a"] - own["b"]).mean())
    assert row["n"] == len(own)
    from scipy.stats import shapiro, ttest_rel

    assert row["p"] == pytest.approx(ttest_rel(own["a"], own["b"]).pvalue)
    assert row["normality"] == pytest.approx(shapiro((own["a"] - own["b"]).to_numpy()).pvalue)
    value = {r["loss"]: r["value"] for r in found.summary.filter(pl.col("measure") == "EEAUC").iter_rows(named=True)}
    assert value["a"] > value["b"]


@pytest.mark.parametrize(("model", "package"), [("mlp", "torch"), ("lightgbm", "lightgbm")])
def test_a_missing_package_is_named(train, svm, monkeypatch, model, package):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = train(svm, "--model", model, "-o", "x")
    assert code == 2
    assert f"needs the package '{package}'" in err
    assert "pip install 'lightmeter[learn]'" in err
