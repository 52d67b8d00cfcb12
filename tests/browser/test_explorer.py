"""The explorer: the page in a real browser, and its results compared with Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from agreement import (
    END_IN_PAGE,
    IN_PAGE,
    compare,
    compare_end,
    draw_problems,
    draw_trained,
    in_page,
)
from inline_code import inline_code
from lanes import slow_after_first
from matplotlib.colors import to_rgb

from browser import browser, open_tab
from recallscope import Instance, Problem, Threads, explore, learn, predict, run, solve
from recallscope.common.errors import ProblemError
from recallscope.explorer.examples import EXAMPLES
from recallscope.explorer.inline import inline
from recallscope.explorer.page import page
from recallscope.explorer.page_data import page_data
from recallscope.measure.sweep_file import read_sweep
from recallscope.plot.style import NOISES
from recallscope.theory.choosing import law_named
from recallscope.theory.law import NOTHING_GIVEN
from recallscope.three_step.three_step import Learned

ADDRESS = "#vocab=300&samples=inf&dim=48&length=9&width=128&activation=tanh&embedding=gaussian"


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    return explore(tmp_path_factory.mktemp("explorer") / "page.html", open=False)


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def tab(chromium, written):
    return open_tab(chromium, written.resolve().as_uri(), 1600)


def test_the_data_of_the_page_are_those_of_the_laws():
    data = page_data()
    assert data["tested"].keys() == {"three-step", "trained", "converged"}
    by_gradients = [row for row in data["trained"] if row["learner"] != "converged"]
    for name, rows in (("three-step", data["simulated"]), ("trained", by_gradients)):
        law = law_named(name)
        assert data["tested"][name] == law.tested
        compared = [each.problem for each in law.comparisons()]
        if name == "trained":  # the page has no law of trainings behind an MLP
            compared = [problem for problem in compared if problem.width is None]
        assert len(rows) == len(compared) > 200
        assert [row["dim"] for row in rows] == [problem.dim for problem in compared]
    problem, predicted, _ = law_named("three-step").comparisons()[0]
    (answer,) = law_named("three-step").predict([problem], NOTHING_GIVEN)
    assert answer.accuracies == pytest.approx(predicted, abs=1e-12)


def test_closed_forms_are_those_of_python(tab):
    problems = draw_problems(300, seed=2)
    found = compare(problems, in_page(tab.page, IN_PAGE, problems))
    assert found["with closed forms"] == 300
    assert found["no signal"] < 30
    assert {what: said for what, said in found["worst"].items() if not said[0] < 1e-6} == {}
    assert len(found["worst"]) == 1 + 3 + 6 + 4 + 5 + 2


def test_the_law_of_the_end_is_that_of_python(tab):
    problems = draw_trained(5, seed=3)
    problems += [
        # Below the capacity threshold.
        Problem(vocab=512, samples=2048, dim=24, length=8, learner="adam"),
        Problem(vocab=256, samples=10**9, dim=32, length=8, learner="converged"),
        Problem(vocab=256, samples=999, dim=32, length=8, learner="gd", embedding="gaussian"),
        Problem(vocab=256, samples=999, dim=32, length=8, learner="gd", trigger_in_values=True),
        Problem(vocab=256, samples=999, dim=32, length=8, width=64, learner="muon"),
    ]
    found = compare_end(problems, in_page(tab.page, END_IN_PAGE, problems))
    assert found["with a law"] >= 5
    assert found["worst"][0] < 1e-6, found


def test_the_bottleneck_and_what_is_needed_are_those_of_python(tab):
    # Not at random: where two noises are almost equal, rounding decides.
    for sizes in ((512, 8192, 64, 32), (512, 1000, 64, 256), (512, 512, 256, 4)):
        problem = Problem(**dict(zip(("vocab", "samples", "dim", "length"), sizes, strict=True)))
        fields = {**problem.to_dict(), "width": None}
        here, there = predict(problem), tab.page.evaluate("(p) => recallscope.predict(p)", fields)
        assert (there["dominant"]["stage"], there["dominant"]["term"]) == here.dominant
        script = "([p, d]) => recallscope.exponentsOf(p, d)"
        assert tab.page.evaluate(script, [fields, there["dominant"]]) == here.exponents
        for size in ("samples", "dim"):
            script = "([p, size]) => recallscope.solve(p, size, 0.5)"
            assert tab.page.evaluate(script, [fields, size]) == solve(problem, size, 0.5).value


@pytest.mark.parametrize("which", slow_after_first(range(len(EXAMPLES))))
def test_the_small_examples_learn_as_run_does(tab, which):
    example = EXAMPLES[which]
    script = """(which) => {
      const example = recallscope.data.examples[which];
      const learned = recallscope.learn(example);
      return { ...learned, hits: recallscope.evaluate(example, learned) };
    }"""
    there = tab.page.evaluate(script, which)
    instance = Instance.make(example.problem, example.seed)
    with Threads() as threads:
        here: Learned = learn(instance, threads)
    for name in ("V1", "alpha", "V2"):
        mine = torch.tensor(there[name], dtype=torch.float64)
        assert (mine - getattr(here, name)).abs().max() < 1e-9, name
    record = run(example.problem, example.seed, dtype="float64", test_samples=example.tests)
    for name, share in there["hits"].items():
        assert share == pytest.approx(getattr(record, name), abs=1e-9), name


def test_the_page_is_one_small_file_that_asks_for_nothing(written, tab):
    text = written.read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    addresses = re.findall(r"""(?:src|href|srcset|action)=["']([^"'`$]+)["']""", text)
    assert all(each.startswith(("#", "data:,", "https://arxiv.org/abs/")) for each in addresses)
    assert tab.requests == [written.resolve().as_uri()]
    assert tab.complaints == []
    version = subprocess.run(
        [sys.executable, "-m", "recallscope", "--version"], capture_output=True, text=True
    )
    assert tab.page.evaluate("recallscope.version") == version.stdout.split()[1]
    assert f"Made by recallscope {version.stdout.split()[1]}." in text


def test_the_page_has_no_code_in_its_attributes():
    assert inline_code(page()) == []


@pytest.mark.parametrize(
    "bad",
    ["<form ONSUBMIT='x'>", "<a href='javascript:x'>", "<a href=' java\tscript:x'>", "<p onclick>"],
)
def test_code_in_attributes_would_be_found(bad):
    assert len(inline_code(f"<main>{bad}</main>")) == 1


def test_the_form_is_never_sent(chromium, written):
    tab = open_tab(chromium, written.resolve().as_uri(), 1200)
    tab.page.evaluate("document.querySelector('form.controls').requestSubmit()")
    tab.page.wait_for_timeout(200)
    assert tab.requests == [written.resolve().as_uri()]
    assert tab.complaints == []
    tab.page.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        pytest.param(1024, "light", marks=pytest.mark.slow),
        pytest.param(1600, "dark", marks=pytest.mark.slow),
    ],
)
def test_everyone_can_use_it_at_every_width(chromium, written, width, scheme):
    tab = open_tab(chromium, written.resolve().as_uri(), width, mobile=width < 500)
    tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab.page.locator("#why-which svg").wait_for()
    assert not tab.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    for details in ("#measured-table", ".terms details"):
        tab.page.evaluate(f"document.querySelector('{details}').open = true")
    for step in range(4):
        tab.page.locator("#steps-list button").nth(step).click()
        assert tab.page.locator("#step h3").count() == 1
    if width != 1024:  # the same as at 1600, but for places
        assert tab.barriers() == []
    assert tab.complaints == []
    tab.page.close()


def test_sliders_and_fields_work_by_keyboard(chromium, written):
    page_ = open_tab(chromium, written.resolve().as_uri(), 1200).page
    page_.focus("#size-dim")
    page_.keyboard.press("ArrowRight")
    assert page_.evaluate("recallscope.state().dim") == 70
    shown = page_.locator(".recall_accuracy output").inner_text()
    assert (
        shown
        == f"{predict(Problem(vocab=512, samples=8192, dim=70, length=32)).recall_accuracy:.3f}"
    )
    page_.keyboard.press("Tab")
    page_.keyboard.type("100")
    page_.keyboard.press("Enter")
    assert page_.evaluate("recallscope.state().dim") == 100
    field = page_.locator("input[type=text]").nth(2)
    field.fill("many")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    assert page_.evaluate("recallscope.state().dim") == 100
    page_.close()


def test_a_link_restores_the_state_and_a_strange_one_does_no_harm(chromium, written):
    tab = open_tab(chromium, written.resolve().as_uri() + ADDRESS, 1200)
    state = tab.page.evaluate("recallscope.state()")
    assert (state["vocab"], state["width"], state["activation"]) == (300, 128, "tanh")
    assert tab.page.locator("#population").is_checked()
    link = tab.page.locator("#as-link").inner_text()
    tab.page.close()
    again = open_tab(chromium, link, 1200)
    assert again.page.evaluate("recallscope.state()") == state
    again.page.close()
    strange = open_tab(
        chromium, written.resolve().as_uri() + "#vocab=-1&dim=<b>&x=dim&y=dim&embedding=foo", 1200
    )
    assert strange.page.evaluate("recallscope.state().vocab") == 512
    assert strange.complaints == []
    strange.page.close()


STRANGE = ["__proto__=1", "constructor=1", "trigger_in_values=constructor"]


@pytest.mark.parametrize("strange", slow_after_first(STRANGE))
def test_names_of_object_members_are_ignored(chromium, written, strange):
    tab = open_tab(chromium, f"{written.resolve().as_uri()}#{strange}&vocab=300", 1200)
    script = "Object.entries(recallscope.state()).map(([name, value]) => [name, String(value)])"
    state = dict(tab.page.evaluate(script))
    assert state.pop("vocab") == "300"
    assert state == {
        "samples": "8192",
        "dim": "64",
        "length": "32",
        "width": "null",
        "activation": "relu",
        "embedding": "sphere",
        "trigger_in_values": "false",
        "learner": "adam",
        "x": "dim",
        "y": "samples",
        "shown": "recall_accuracy",
        "target": "0.5",
    }
    assert tab.complaints == []
    tab.page.close()


@pytest.mark.slow
def test_exported_commands_code_and_files_work(chromium, written, tmp_path):
    tab = open_tab(chromium, written.resolve().as_uri() + ADDRESS.replace("inf", "2000"), 1200)
    take = tab.page
    problem = Problem(
        vocab=300,
        samples=2000,
        dim=48,
        length=9,
        width=128,
        activation="tanh",
        embedding="gaussian",
    )
    first = take.locator("#as-command").inner_text().splitlines()[0].split()
    assert first[:2] == ["recallscope", "predict"]
    done = subprocess.run(
        [sys.executable, "-m", "recallscope", *first[1:], "--json"], capture_output=True, text=True
    )
    assert json.loads(done.stdout)["problem"] == problem.to_dict() | {"key": problem.key}
    names: dict[str, object] = {}
    exec("\n".join(take.locator("#as-python").inner_text().splitlines()[:3]), names)
    assert names["problem"] == problem
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(take.locator("#as-sweep").inner_text())
    cells = list(read_sweep(sweep).cells())
    assert len(cells) == 5 * 5 * 8
    assert problem.replace(dim=12, samples=500) in [cell.problem for cell in cells]
    for button, start in (("#save-svg", b"<svg"), ("#save-png", b"\x89PNG")):
        with take.expect_download() as waiting:
            take.click(button)
        assert Path(waiting.value.path()).read_bytes().startswith(start)
    assert tab.complaints == []
    tab.page.close()


def test_measurements_lie_on_the_map_with_their_intervals(chromium, written):
    tab = open_tab(chromium, written.resolve().as_uri() + "#vocab=512&length=128", 1200)
    tab.page.locator("#diagram[data-done=true]").wait_for()
    assert tab.page.locator("#diagram .point").count() > 800
    assert tab.page.locator("#diagram .crossing").count() >= 10
    assert "95 % interval" in tab.page.locator("#diagram .point title").first.text_content()
    tab.page.click("#measured-table summary")
    rows = tab.page.locator("#measured-rows tbody tr")
    measured, interval, predicted = (
        rows.nth(5).locator("td").nth(k).inner_text() for k in (2, 3, 4)
    )
    low, high = map(float, interval.split(" to "))
    assert low <= float(measured) <= high
    assert 0 <= float(predicted) <= 1
    tab.page.close()


def test_a_file_that_is_not_ours_is_left_alone(tmp_path):
    theirs = tmp_path / "page.html"
    theirs.write_text("mine")
    with pytest.raises(ProblemError, match="is not a page of recallscope; name another"):
        explore(theirs, open=False)
    assert theirs.read_text() == "mine"
    with pytest.raises(ProblemError, match=r"a page is written as \.html"):
        explore(tmp_path / "page.txt", open=False)


def test_the_command_writes_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    command = [sys.executable, "-m", "recallscope", "explore", "--to", str(path), "--no-open"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document == {"page": str(path), "bytes": path.stat().st_size, "opened": False}
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert explore(path) == path  # over the first
    assert opened == [path.resolve().as_uri()]
    assert path.read_text(encoding="utf-8") == page()


def test_noises_have_the_colours_of_figures(tab):
    script = """() => [...document.querySelectorAll("#noises summary")].map((row) =>
      [row.textContent, row.querySelector(".key").style.background])"""
    shown = tab.page.evaluate(script)
    assert len(shown) >= 4
    for text, background in shown:
        words = text.lower().replace("-", " ")
        (name,) = (name for name in NOISES if words.startswith(f"{name.replace('_', ' ')} "))
        parts = ", ".join(str(round(255 * part)) for part in to_rgb(NOISES[name][0]))
        assert background == f"rgb({parts})", text


def test_modules_are_inlined_or_refused(tmp_path):
    (tmp_path / "a.js").write_text('import {\n  b,\n} from "./in/b.js";\nconsole.log(b);\n')
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.js").write_text("export const b = 1;\n")
    made = inline(tmp_path, "a.js")
    assert made.index('modules["in/b.js"]') < made.index('const { b } = modules["in/b.js"];')
    assert "export" not in made
    (tmp_path / "in" / "b.js").write_text('export { b } from "../a.js";\n')
    with pytest.raises(ValueError, match="not an import or export that can be inlined"):
        inline(tmp_path, "a.js")
    (tmp_path / "in" / "b.js").write_text('import { a } from "../a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match="import each other"):
        inline(tmp_path, "a.js")


def test_every_module_of_the_page_is_used():
    folder = files("recallscope.explorer").joinpath("page")
    made = inline(folder, "main.js")
    root = Path(str(folder))
    modules = {path.relative_to(root).as_posix() for path in root.rglob("*.js")}
    assert {name for name in modules if f'modules["{name}"] = ' not in made} == set()


def test_sizes_come_back_and_mistakes_are_reported(chromium, written):
    tab = open_tab(chromium, written.resolve().as_uri() + "#vocab=1000&width=256", 1200)
    tab.page.click("#try-attention")
    assert tab.page.evaluate("recallscope.state()")["vocab"] == 512
    tab.page.click("#try-back")
    state = tab.page.evaluate("recallscope.state()")
    assert (state["vocab"], state["width"]) == (1000, 256)
    assert "Without the MLP recall would be" in tab.page.locator("#bottleneck").inner_text()
    field = tab.page.locator("#sizes input[type=text]").first
    field.fill("many")
    field.press("Tab")
    assert "whole number" in tab.page.locator("#sizes [role=alert]:visible").inner_text()
    assert tab.complaints == []
    tab.page.close()
