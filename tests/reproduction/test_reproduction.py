"""The reproduction as a reader meets it: its bundle, its command, runs that resume, its pages."""

from __future__ import annotations

import html
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from lanes import slow_after_first
from made_up_report import FACTS

from browser import browser, open_tab
from recallscope.sweeps.store.store import Store
from reproduction.critical_sizes import critical_sizes, searches_told
from reproduction.evidence import BUNDLE, RUNS, Evidence
from reproduction.pages import DOCS, OVERVIEW, figures, pages
from reproduction.report import facts_about, report_page, write_report
from reproduction.statements import STATEMENTS, finding

ROOT = Path(__file__).parents[2]
SWEEPS = {sweep.name: sweep for each in STATEMENTS.values() for sweep in each.sweeps}
VERDICTS = {
    **dict.fromkeys(STATEMENTS, "supported"),
    "products": "open",
    "lower-bound": "not testable",
    "tight": "not testable",
    "news": "refuted",
}


def reproduction(*arguments, folder):
    line = [sys.executable, "-m", "reproduction", *arguments]
    return subprocess.run(
        line, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def evidence():
    return Evidence.at(BUNDLE)


@pytest.fixture(scope="module")
def found(evidence):
    """The finding of every statement from the runs of the bundle."""
    return {name: finding(statement, evidence) for name, statement in STATEMENTS.items()}


# The bundle.


def test_the_bundle_has_every_cell_of_its_sweeps_and_all_are_ok(evidence):
    assert len(evidence.table) == 26_036
    assert set(pc.unique(evidence.table["status"]).to_pylist()) == {"ok"}
    for name in ("factorial", "noises", "oscillating", "decoders"):
        sweep = SWEEPS[name]
        cells = [(cell.problem, cell.seed) for cell in sweep.of_size("full").cells()]
        assert [(each.problem, each.seed) for each in evidence.runs(sweep)] == cells


def test_any_reader_of_parquet_opens_the_bundle():
    pandas = pytest.importorskip("pandas")
    table = pandas.read_parquet(BUNDLE / RUNS)
    recall = table[table["sweep"] == "factorial"].groupby("samples")["recall_accuracy"].mean()
    assert recall.is_monotonic_increasing


@pytest.mark.parametrize(
    "name", slow_after_first([name for name, each in SWEEPS.items() if "critical" in each.full], 2)
)
def test_critical_sizes_of_the_bundle_follow_from_its_runs(evidence, name):
    """The first search of each sweep is computed again, and its prediction with it."""
    sweep = SWEEPS[name].of_size("full")
    first = searches_told(sweep, evidence.runs(SWEEPS[name]))[:1]
    (again,) = critical_sizes(first)
    kept = evidence.critical_sizes(SWEEPS[name])[0]
    assert (again.status, again.runs, again.theory) == (kept.status, kept.runs, kept.theory)
    for which in ("judged", "shown"):
        assert getattr(again, which) == pytest.approx(getattr(kept, which), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", ["decoders", "mlp-limits", "noises"])
def test_a_measure_of_the_bundle_comes_back(evidence, name):
    record = min(
        evidence.runs(SWEEPS[name]), key=lambda each: each.problem.samples * each.problem.dim
    )
    again = SWEEPS[name].measure(record.problem, record.seed)
    assert again == pytest.approx(dict(record.metrics), abs=2e-3)


def test_the_verdicts_are_those_of_the_documentation(found):
    assert {name: str(each.verdict) for name, each in found.items()} == VERDICTS


def test_the_pages_of_the_statements_are_those_of_the_runs(evidence, found):
    """All of them exist, and no page or figure of a statement that was removed."""
    written = pages(list(found.values()), evidence)
    for name, text in written.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, name
    there = {f"statements/{path.name}" for path in (DOCS / "statements").iterdir()}
    assert there | {OVERVIEW} == written.keys() | figures()


# Studies.


STUDIES = sorted(path.parent for path in (ROOT / "reproduction" / "studies").glob("*/README.md"))


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_a_study_has_a_question_and_results_that_pages_name(folder):
    """A page that shows a number of a study names its folder; what the study links to exists."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# ")
    assert readme.splitlines()[0].endswith("?")
    for link in re.findall(r"\]\(([^)]+)\)", readme):
        assert (folder / link).exists(), link
    pages_of_it = {(folder / page).resolve() for page in re.findall(r"\]\(([^)]+\.md)\)", readme)}
    for page in pages_of_it:
        text = page.read_text(encoding="utf-8")
        assert f"reproduction/studies/{folder.name}" in text or f"study {folder.name}" in text, page
    listed = set(re.findall(r"^\| `(?:\w+/)?(\w+)`", readme, re.M))
    listed |= set(re.findall(r"`(\w+)\.py`", readme))
    assert listed == {path.stem for path in folder.glob("*.py")}


def test_folders_of_studies_that_pages_name_exist():
    named = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        named |= set(re.findall(r"reproduction/studies/(\w+)", page.read_text(encoding="utf-8")))
    assert named <= {folder.name for folder in STUDIES}
    assert len(named) > 15


def test_every_figure_and_study_is_in_the_readme_with_a_command():
    text = (ROOT / "reproduction" / "README.md").read_text(encoding="utf-8")
    for folder in STUDIES:
        assert f"studies/{folder.name}" in text or f"`study {folder.name}" in text
    for statement in STATEMENTS:
        assert f"`run {statement}`" in text
    drawn = {path.name for path in DOCS.rglob("*.png") if path.parent.name != "statements"}
    elsewhere = {
        "explorer.png",
        "check.png",
        "ablations.png",
        "law.png",
        "critical.png",
        "training.png",
    }
    for name in drawn - elsewhere:
        assert name in text, name


# The command.


def test_list_has_every_statement_with_its_verdict_and_every_study(tmp_path):
    done = reproduction("list", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name, statement in STATEMENTS.items():
        assert re.search(
            rf"^{name} +{VERDICTS[name]} +{re.escape(statement.title)}$", done.stdout, re.M
        )


CAVEATS = {
    "orthogonal": ("No embeddings are orthogonal at d < V", "tight frames"),
    "orthogonal-capacity": ("it is the other way round",),
    "lower-bound": ("were added for 0.3", "the ranges did not change"),
    "first-steps": ("depends on the step size", "after small ones later training"),
    "oscillations": ("neither orthogonal nor random ones oscillate",),
    "tight": ("The lower bound is ours", "says nothing of the paper's bound"),
}
TALLY = (
    "Of 12 statements attributed to the paper, 3 from its abstract, 9 are supported, 1 is open and "
    "2 are not testable. Others, not the paper's: 1 is refuted. "
    "A preregistered replication: version 0.1 had measured most of it with other seeds."
)


def test_caveats_say_what_a_statement_is_not_about():
    assert {name for name, statement in STATEMENTS.items() if statement.caveat} == set(CAVEATS)
    for name, words in CAVEATS.items():
        assert all(word in " ".join(STATEMENTS[name].caveat.split()) for word in words)


def test_report_and_page_have_caveats_and_count_the_papers_statements_only(evidence, found):
    findings = [(STATEMENTS[name], each) for name, each in found.items()]
    report = html.unescape(report_page(findings, FACTS))
    written = pages(list(found.values()), evidence)
    for text in (report, written[OVERVIEW]):
        assert TALLY in text
        for name in CAVEATS:
            assert STATEMENTS[name].caveat in text, name
    assert "Learning to recall: twelve statements, measured" in report
    assert "Not the paper’s: A news summary" in report
    assert "13." not in re.findall(r"<h2[^>]*>(\S+)", report)
    for statement, each in findings:
        for text in (
            *(statement.source, statement.attack, statement.caveat, statement.untestable),
            each.in_practice,
        ):
            assert text in report
            assert text in written[f"statements/{statement.name}.md"]
    assert "| not the paper's | [A news summary" in written[OVERVIEW]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "foo"], "there is no statement 'foo'; there are finite-data"),
        (["run", "products", "--size", "huge"], "'huge' is not one of"),
        (["report", "--size", "small"], "the bundle has runs of size full"),
        (["report", "--to", "report.pdf"], ".html"),
        (["figures", "foo"], "there is no statement 'foo'"),
    ],
)
def test_mistakes_are_reported(arguments, complaint, tmp_path):
    done = reproduction(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_statement_is_run_interrupted_and_resumed(tmp_path):
    """What is there is not run again, and the end is the same."""
    line = [sys.executable, "-m", "reproduction", "run", "lower-bound"]
    folder = tmp_path / "reproduction-runs" / "small"
    store = Store(folder / "store" / "decoders")

    def measured():
        if not store.exists():
            return {}
        return {(record.problem, record.seed): record.result() for record in store.records()}

    first = subprocess.Popen(
        line, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while len(before := measured()) < 3:
        assert time.monotonic() < deadline
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert first.returncode == 130
    assert not (folder / RUNS).exists()

    second = reproduction("run", "lower-bound", folder=tmp_path)
    assert second.returncode == 0, second.stderr
    after = measured()
    assert len(after) == 512 == len(pq.read_table(folder / RUNS)) > len(before)
    assert before.items() <= after.items()
    assert STATEMENTS["lower-bound"].title in second.stdout
    reported = reproduction(
        "report", "--runs", "reproduction-runs", "--size", "small", folder=tmp_path
    )
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "report.html").read_text()
    assert STATEMENTS["lower-bound"].title in page
    assert "not yet measured" in page


@pytest.mark.slow
def test_the_report_in_a_browser(evidence, found, tmp_path):
    """All statements, drawn, from the file alone."""
    findings = [(STATEMENTS[name], each) for name, each in found.items()]
    write_report(tmp_path / "report.html", findings, facts_about(evidence, findings, "full"))
    panels = sum(len(each.picture.panels) for each in found.values())
    address = (tmp_path / "report.html").as_uri()
    with browser() as chromium:
        for width in (1280, 390):
            shown = open_tab(chromium, address, width, mobile=width < 500)
            asked = [url for url in shown.requests if not url.startswith("data:")]
            assert asked == [address]
            assert shown.complaints == []
            assert shown.barriers() == []
            evaluate = shown.page.evaluate
            assert evaluate("document.querySelectorAll('.panels img').length") == panels
            assert evaluate("document.documentElement.scrollWidth") <= width
            text = evaluate("document.body.innerText")
            for name, statement in STATEMENTS.items():
                assert statement.title in text
                assert VERDICTS[name] in text
