"""The claims as a user meets them: commands, runs that resume, and the built-in bundle."""

from __future__ import annotations

import contextlib
import html
import json
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from claims_page import DOCS, OVERVIEW, figures, pages

from browser import browser, open_tab
from conftest import recallscope as command_line
from made_up_report import FACTS
from recallscope.cli.paper import print_finding
from recallscope.paper.bundle import (
    BUNDLE,
    bundled_evidence,
    hashes,
    hashes_of_sweeps,
    manifest,
    summary,
)
from recallscope.paper.crossings import CROSSINGS
from recallscope.paper.evidence import Evidence
from recallscope.paper.presets import sweep_of
from recallscope.paper.provenance import facts_about
from recallscope.paper.registry import CLAIMS, finding
from recallscope.paper.report import report as report_page
from recallscope.paper.report import write_report
from recallscope.problem import ProblemError
from recallscope.store.store import Store


def recallscope(*arguments, folder):
    with contextlib.chdir(folder):
        return command_line("paper", *arguments)


@pytest.fixture(scope="module")
def evidence():
    return bundled_evidence()


@pytest.fixture(scope="module")
def found(evidence):
    """The finding of every claim from the runs of the bundle."""
    return {name: finding(claim, evidence) for name, claim in CLAIMS.items()}


# The bundle.


def test_the_manifest_holds_the_hash_of_every_file():
    written = manifest()
    assert written["files"] == hashes(BUNDLE)
    names = sorted({name for claim in CLAIMS.values() for name in claim.sweeps})
    assert written["sweeps"] == hashes_of_sweeps(names, "full")


def test_a_changed_bundle_is_reported(tmp_path, monkeypatch):
    shutil.copytree(BUNDLE, tmp_path / "bundle")
    monkeypatch.setattr("recallscope.paper.bundle.BUNDLE", tmp_path / "bundle")
    with (tmp_path / "bundle" / CROSSINGS).open("a") as file:
        file.write("{}\n")
    with pytest.raises(ProblemError, match=r"crossings\.json .* is not as it was packed"):
        bundled_evidence()


@pytest.mark.slow
def test_posteriors_of_the_bundle_follow_from_its_runs(evidence):
    """One of twelve searches of each sweep is computed again."""
    afresh = Evidence.at(BUNDLE, "full")
    for name in {name for claim in CLAIMS.values() for name in claim.sweeps}:
        if sweep_of(name, "full").critical is None:
            continue
        for kept, search in list(
            zip(evidence.searches_so_far(name), afresh.searches_so_far(name), strict=True)
        )[::12]:
            assert "crossing" in vars(kept)  # read from the bundle, not computed
            assert kept.crossing.edges.tolist() == search.crossing.edges.tolist()
            assert kept.crossing.weight == pytest.approx(search.crossing.weight, rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_the_records_of_the_bundle_are_sound():
    found = Store(BUNDLE / "records").verify()
    assert found.sound
    assert not found.strange
    assert found.by_status == {"ok": manifest()["runs"] + manifest()["readings"]}


def test_the_verdicts_follow_from_the_records(found):
    written = manifest()["claims"]
    made = {name: summary(each) for name, each in found.items()}
    assert {name: each["verdict"] for name, each in made.items()} == {
        name: each["verdict"] for name, each in written.items()
    }
    for name, each in made.items():
        for rebuilt, kept in zip(each["evidence"], written[name]["evidence"], strict=True):
            for end in ("value", "low", "high"):
                assert rebuilt.pop(end) == pytest.approx(kept.pop(end), rel=1e-6, abs=1e-9)
            assert rebuilt == kept


def test_the_pages_of_the_claims_are_those_of_the_records(found):
    """All of them exist, and no page or figure of a claim that was removed."""
    findings = [(CLAIMS[name], each) for name, each in found.items()]
    written = pages(findings, manifest())
    for name, text in written.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, name
    there = {f"claims/{path.name}" for path in (DOCS / "claims").iterdir()}
    assert there | {OVERVIEW} == written.keys() | figures()
    assert {path.stem for path in (DOCS / "claims").glob("*.png")} == set(CLAIMS)


def test_every_claim_of_the_bundle_has_a_verdict():
    verdicts = {claim["verdict"] for claim in manifest()["claims"].values()}
    assert verdicts <= {"supported", "refuted", "open", "not testable"}


# The commands.


def test_list_as_json(tmp_path):
    done = recallscope("list", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert [each["name"] for each in listed] == list(CLAIMS)
    for each in listed:
        assert set(each) == {
            *("name", "statement", "source", "caveat", "of_the_paper", "from_abstract", "known"),
            *("verdict", "evidence", "predicted_by", "first_seeds"),
        }
        assert each["statement"] == CLAIMS[each["name"]].statement
        assert each["evidence"]
        assert re.fullmatch(r"[0-9a-f]{40}", each["predicted_by"])
        for sweep, seed in each["first_seeds"].items():
            assert seed == sweep_of(sweep, "full").first_seed
    assert [each["name"] for each in listed if not each["of_the_paper"]] == ["news"]


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


def test_caveats_say_what_a_claim_is_not_about():
    assert {name for name, claim in CLAIMS.items() if claim.caveat} == set(CAVEATS)
    for name, words in CAVEATS.items():
        assert all(word in " ".join(CLAIMS[name].caveat.split()) for word in words)


def test_list_report_and_page_have_caveats_and_count_the_papers_claims_only(found, tmp_path):
    listed = " ".join(recallscope("list", folder=tmp_path).stdout.split())
    findings = [(CLAIMS[name], each) for name, each in found.items()]
    report = html.unescape(report_page(findings, FACTS))
    written = pages(findings, manifest())
    texts_of = {"list": listed, "report": report, "page": written[OVERVIEW]}
    for where, text in texts_of.items():
        assert TALLY in text, where
        for name in CAVEATS:
            assert CLAIMS[name].caveat in text, (where, name)
    assert "Learning to recall: twelve claims, measured" in report
    assert "Not the paper’s: A news summary" in report
    assert "13." not in re.findall(r"<h2[^>]*>(\S+)", report)
    for claim, each in findings:
        texts = (claim.source, claim.attack, each.in_practice, claim.caveat, each.untestable)
        for text in texts:
            assert text in report
            assert text in written[f"claims/{claim.name}.md"]
    assert "| not the paper's | [A news summary" in texts_of["page"]


def test_running_a_claim_prints_its_caveat(found, capsys):
    print_finding(CLAIMS["orthogonal"], found["orthogonal"])
    assert CLAIMS["orthogonal"].caveat in " ".join(capsys.readouterr().out.split())


def test_listing_needs_no_torch(tmp_path):
    code = (
        "import sys; from recallscope.cli import main as cli\n"
        "sys.argv = ['recallscope', 'paper', 'list']\n"
        "try: cli.main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "products" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "foo"], "there is no claim 'foo'; claims are products"),
        (["run", "all", "--size", "huge"], "size must be one of smoke, short, full, not 'huge'"),
        (["list", "--size", "smoke"], "give --store FOLDER for runs of size smoke"),
        (["list", "--store", "nowhere"], "there are no runs of size full in 'nowhere'"),
        (["run", "news", "--store", "s3://b/c"], "keep their runs in a folder, not at 's3://b/c'"),
        (["report", "--to", "report.pdf"], ".html"),
        (["plot", "foo"], "there is no claim 'foo'"),
    ],
)
def test_mistakes_are_one_sentence(arguments, complaint, tmp_path):
    done = recallscope(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_claim_is_run_interrupted_and_resumed(tmp_path):
    """What is there is not run again, and the end is the same."""
    command = [sys.executable, "-m", "recallscope", "paper", "run", "lower-bound", "--json"]
    store = Store(tmp_path / "recallscope-paper" / "smoke" / "records")

    def measured():
        if not store.files.exists():
            return {}
        records = (record for record in store.records() if record.measure is not None)
        return {(record.problem, record.seed): record.result() for record in records}

    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while len(before := measured()) < 3:
        assert time.monotonic() < deadline
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert first.returncode == 130

    second = recallscope("run", "lower-bound", "--json", folder=tmp_path)
    assert second.returncode == 0, second.stderr
    found = measured()
    assert len(found) == 512 > len(before)
    assert before.items() <= found.items()
    assert store.verify().sound

    listed = recallscope(
        "list", "--store", "recallscope-paper", "--size", "smoke", "--json", folder=tmp_path
    )
    verdicts = {each["name"]: each["verdict"] for each in json.loads(listed.stdout)}
    assert verdicts["products"] == "not yet measured"
    assert verdicts["lower-bound"] == json.loads(second.stdout)[0]["verdict"]
    plotted = recallscope(
        "plot", "products", "--store", "recallscope-paper", "--size", "smoke", folder=tmp_path
    )
    assert plotted.returncode == 2
    assert "products is not yet measured; start with recallscope paper run" in plotted.stderr
    reported = recallscope(
        "report", "--store", "recallscope-paper", "--size", "smoke", folder=tmp_path
    )
    assert reported.returncode == 0, reported.stderr
    assert CLAIMS["lower-bound"].title in (tmp_path / "report.html").read_text()
    assert {path.stem for path in (tmp_path / "report-figures").iterdir()} == {"lower-bound"}


@pytest.mark.slow
def test_the_report_in_a_browser(evidence, found, tmp_path):
    """All claims, drawn, from the file alone."""
    claims = [(CLAIMS[name], each) for name, each in found.items()]
    facts = facts_about(evidence, claims, "recallscope-paper", hashes(BUNDLE))
    write_report(tmp_path / "report.html", claims, facts)
    assert len(list((tmp_path / "report-figures").iterdir())) == len(CLAIMS)
    panels = sum(len(each.picture.panels) for each in found.values())
    shutil.rmtree(tmp_path / "report-figures")  # links for print, not parts of the page
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
            for claim in CLAIMS.values():
                assert claim.title in text
                assert manifest()["claims"][claim.name]["verdict"] in text
