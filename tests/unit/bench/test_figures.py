import json

from bench import figures
from bench.figures import Figure

CREATE = Figure(what="create", unit="s", runs=(3.9, 4.4, 3.1), target=4, reference="17.9, 20.5, 18.4 s")
ERRORS = Figure(what="errors", unit="", runs=(0.0, 2.0, 1.0), target=0)
GAP = Figure(what="gap", unit="ms", runs=(212.4, 1410.0, 80.61))


def test_a_figure_is_the_median_of_its_runs_against_its_target():
    assert (CREATE.value, CREATE.met) == (3.9, "met")
    assert (ERRORS.value, ERRORS.met) == (1.0, "MISSED")
    assert (GAP.value, GAP.met) == (212.4, "")


def test_what_must_never_happen_is_judged_by_every_run():
    once = Figure(what="errors", unit="", runs=(0.0, 50.0, 0.0), target=0)
    assert (once.value, once.met) == (0.0, "MISSED")


def test_the_table_shows_reference_target_and_every_run():
    assert list(figures.lines([CREATE, ERRORS, GAP])) == [
        "WHAT     GO OPERATOR          OURS (MEDIAN)   TARGET            RUNS",
        "create   17.9, 20.5, 18.4 s   3.9 s           ≤ 4 s    met      3.9 4.4 3.1",
        "errors   –                    1               ≤ 0      MISSED   0 2 1",
        "gap      –                    212 ms                            212 1410 80.6",
    ]


def test_the_file_holds_every_run(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    saved = json.loads(figures.save([CREATE], facts={"cores": 2}).read_text())
    assert saved["machine"]["cores"] == 2
    assert saved["figures"] == [
        {
            "what": "create",
            "unit": "s",
            "runs": [3.9, 4.4, 3.1],
            "target": 4,
            "reference": "17.9, 20.5, 18.4 s",
            "value": 3.9,
            "met": "met",
        }
    ]
