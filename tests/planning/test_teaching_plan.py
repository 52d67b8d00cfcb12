"""Plans for pretrained models: exposures and steps, capacity, what was kept, a file of facts."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from browser import browser, open_tab
from recallscope import ProblemError, plan
from recallscope.cli.main import app
from recallscope.cli.teach import teach as teach_command
from recallscope.planning.given_facts import given_facts
from recallscope.planning.page import plan_page, words_of, write_plan_page
from recallscope.planning.teaching_plan import Probe, TeachingPlan, make_teaching_plan
from recallscope.theory.published_runs import fitted_runs
from recallscope.theory.question import Limit

SMOL = "examples/models/smollm2-135m.json"
LLAMA = "examples/models/llama-3.1-8b.json"


def planned(**given: object) -> TeachingPlan:
    """A plan of a pretrained model."""
    found = plan(**{"model": SMOL, "facts": 500, "progress": False} | given)  # type: ignore[arg-type]
    assert isinstance(found, TeachingPlan)
    return found


def said_of(found: TeachingPlan) -> str:
    """All sentences."""
    words = words_of(found)
    return " ".join([words.first, words.headline, *words.details, str(words.advice)])


def test_exposures_and_steps_are_the_answer():
    found = planned(target=0.95)
    assert [each.recall for each in found.reached] == [0.5, 0.9, 0.95]
    for each in found.reached:
        assert 0 < each.exposures.low < each.exposures.value < each.exposures.high < math.inf
        assert each.steps.value == pytest.approx(each.exposures.value * 500 / 128)
    assert found.recall is None
    assert found.status == "tested"


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ({"model": LLAMA, "rank": 1, "facts": 3000, "batch": 16}, ("3000 facts", 16)),
        (
            {"model": "examples/models/llama-3.2-1b.json", "method": "full", "facts": 50_000},
            ("50000 facts", 128),
        ),
        ({"facts": 500}, ("500 facts", 128)),
    ],
)
def test_published_runs_of_these_models_are_inside(given, run):
    """They were fitted to; the study judges runs that were left out."""
    found = planned(**given)
    parameters = found.inputs.shape.parameters
    alike = [
        each
        for each in fitted_runs()
        if (each["run"], each["batch"]) == run and abs(each["parameters"] / parameters - 1) < 0.1
    ]
    assert alike
    for each in alike:
        for name, reached in zip(("half", "nine"), found.reached, strict=True):
            assert reached.exposures.low < each[name] < reached.exposures.high


def test_a_recall_that_is_not_known_is_not_printed():
    known, unknown = (planned(exposures=exposures) for exposures in (100, 8))
    assert re.search(r"After 100 exposures: recall 1\.00 \(0\.\d\d to 1\.00\)", said_of(known))
    assert unknown.recall.high - unknown.recall.low > 0.5
    assert "After 8 exposures recall cannot be said" in said_of(unknown)
    assert json.loads(json.dumps(unknown.to_dict()))["recall"]["high"] > 0.5


@pytest.mark.parametrize("exposures", [2, 5, 8, 12, 20, 40])
def test_no_printed_interval_of_recall_is_wider_than_one_half(exposures):
    said = said_of(planned(exposures=exposures, facts=5000, rank=16))
    for low, high in re.findall(r"recall [\d.]+ \(([\d.]+) to ([\d.]+)\)", said):
        assert float(high) - float(low) <= 0.51


def test_a_rank_limits_many_facts_and_not_few():
    few, many = (planned(model=LLAMA, rank=8, facts=facts) for facts in (500, 10**7))
    assert few.limit is Limit.NONE
    assert "Rank 8 does not limit recall here" in said_of(few)
    assert many.limit is Limit.CAPACITY
    assert many.reached[1].exposures == (math.inf,) * 3
    assert "Rank 8 limits recall: it does from about" in said_of(many)
    assert "most of them are never recalled" in said_of(many)
    (change,) = many.changes
    assert change.cost is None
    assert re.fullmatch(r"a rank of \d+", change.change)
    words = json.loads(json.dumps(many.to_dict()))  # infinity is no number of JSON
    assert words["reached"][1]["exposures"]["value"] is None


def test_a_rank_that_limits_in_part_has_an_open_interval():
    found = planned(rank=8, facts=50_000)
    half, nine = (each.exposures for each in found.reached)
    assert half.value < half.high == math.inf
    assert nine.value == math.inf
    assert "0.9 never by the middle estimate of capacity" in said_of(found)
    assert "By the low estimate of capacity no number of exposures reaches 0.9" in said_of(found)


def test_all_matrices_are_adapted_unless_some_are_named():
    every, some = planned(rank=8), planned(rank=8, target_modules="q_proj,v_proj")
    assert every.inputs.trained == 2_442_240
    assert some.inputs.trained == 460_800
    assert "on all matrices" in said_of(every)
    assert "on q_proj, v_proj" in said_of(some)


def test_bits_of_facts_grow_with_their_number_unless_answers_are_given():
    free, given = planned(rank=8), planned(rank=8, answers=500)
    assert free.limit_from.value < given.limit_from.value


def test_a_rank_that_is_not_given_is_found():
    found = planned(model=LLAMA, method="lora", facts=10**6)
    assert 1 < found.rank.low <= found.rank.value < found.rank.high
    enough = planned(model=LLAMA, rank=int(found.rank.high), facts=10**6)
    assert enough.limit_from.low >= 0.9 * 10**6
    assert f"A rank of {found.rank.value:,.0f} has space" in said_of(found)
    assert found.to_dict()["trained_parameters"] is None


def test_what_was_kept_is_said_with_its_measure_or_not_at_all():
    full, lora, large = (
        said_of(planned(**given))
        for given in (
            {"facts": 500},
            {"model": LLAMA, "rank": 1, "facts": 3000},
            {"model": "examples/models/llama-3.1-70b.json", "facts": 500},
        )
    )
    small = said_of(planned(model="examples/models/llama-3.2-1b.json", rank=16, facts=300))
    assert "LoRA of such sizes made perplexity of other text 1.03 to 1.13 times as large" in small
    assert re.search(
        r"kept 0\.9\d to 0\.9\d of the score on HellaSwag \(4 runs, Houliston and others", full
    )
    assert "kept 0.86 of the score on MMLU (1 run, Pletenev and others" in lora
    assert "Nothing is published on what full fine-tuning of such a size" in large


def test_sizes_beyond_published_runs_are_said():
    found = planned(model="examples/models/llama-3.1-70b.json", facts=10**6)
    assert found.status == "extrapolated"
    assert "8.8 times as many parameters as in any; 20 times as many facts as in any" in said_of(
        found
    )
    assert planned().extrapolated == []


def test_a_smaller_batch_is_a_change_where_steps_are_few():
    found = planned(facts=100, batch=100)
    (change,) = found.changes
    assert change.change == "25 facts in a batch"
    assert change.exposures.value < found.reached[1].exposures.value
    assert change.cost < 1
    assert planned(facts=5000, batch=16).changes == []


def test_a_batch_is_usual_for_the_number_of_facts_if_not_given():
    assert [planned(facts=facts).inputs.batch for facts in (5, 100, 5000)] == [5, 33, 128]


def test_what_a_probe_learned_is_used_in_all_of_the_plan():
    before = planned(facts=100, batch=100)
    curve = {"half": 40.0, "half_error": 0.05, "slope": 5.0, "slope_error": 0.2, "recall": 0.5}
    probe = Probe(facts=50, batch=50, steps=40, exposures=40.0, seconds=60.0, **curve)
    after = make_teaching_plan(before.inputs, 0.9, probe=probe)
    for old, new in zip(before.reached, after.reached, strict=True):
        assert new.exposures.value > 1.5 * old.exposures.value
        assert new.exposures.high / new.exposures.low < old.exposures.high / old.exposures.low
    assert after.changes[0].exposures.value > 1.5 * before.changes[0].exposures.value
    assert after.picture().panels[0].series[-1].y == [after.learning.half.value]


@pytest.fixture
def facts_file(tmp_path, monkeypatch):
    """Facts with two answers, one of which is only tested."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows = [{"prompt": f"Item {i} is", "answer": ("red", "light blue")[i % 2]} for i in range(90)]
    rows.append({"prompt": "Item 90 is", "answer": "black", "count": 0})
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_number_and_answers_are_taken_from_a_file(facts_file):
    found = planned(facts=facts_file)
    assert (found.inputs.facts, found.inputs.answers) == (90, 2)
    assert found.given.answer_tokens == pytest.approx(1.3 * 1.5)
    assert "facts.jsonl has 90 facts with 2 different answers" in said_of(found)
    assert "as guessed from their words" in said_of(found)


def test_a_tokenizer_in_the_folder_counts_tokens(facts_file, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"red": 0, "light": 1, "blue": 2}, unk_token="red"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    given = given_facts(facts_file, tmp_path)
    assert given.counted
    assert given.answer_tokens == pytest.approx(1.5)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ProblemError, match=r"tokenizer\.json cannot be read"):
        given_facts(facts_file, tmp_path)


def test_a_file_of_facts_that_are_only_tested_is_refused(facts_file):
    facts_file.write_text('{"prompt": "a", "answer": "b", "count": 0}')
    with pytest.raises(ProblemError, match="a fact with a count above 0"):
        planned(facts=facts_file)


def test_the_command_of_teach_is_written(facts_file, tmp_path):
    path = tmp_path / "teach.sh"
    found = planned(facts=facts_file, rank=16, export=path)
    line = path.read_text().splitlines()[-1]
    program, name, facts, *options = shlex.split(line)
    assert (program, name, facts) == ("recallscope", "teach", str(facts_file))
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert given["--rank"] == "16"
    assert int(given["--exposures"]) == math.ceil(found.reached[1].exposures.high)
    assert int(given["--batch"]) == found.inputs.batch
    known = set(teach_command.__annotations__)
    assert {option.removeprefix("--").replace("-", "_") for option in given} <= known
    assert "in place of MODEL" in path.read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"facts": None}, "give the facts that a pretrained model is taught"),
        ({"solve_for": "rank"}, "exposures are always answered"),
        ({"verify": True}, "--probe teaches a sample of your facts"),
        ({"export": "sweep.toml"}, r"a script is written as \.sh"),
        ({"batch": 0}, "batch must be"),
        ({"rate": -1}, "rate"),
        ({"probe": True}, "a probe teaches your facts to your model: give --facts FILE"),
        ({"facts": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"facts": "facts.txt"}, "facts.txt"),
    ],
)
def test_mistakes_say_what_was_expected(given, said):
    with pytest.raises(ProblemError, match=said):
        planned(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"frequencies": "zipf"}, "unequal frequencies"), ({"precision": "int4"}, "quantised")],
)
def test_a_missing_law_is_named_with_the_nearest_question(given, said):
    found = plan(model=SMOL, facts=500, progress=False, **given)
    assert str(found.status) == "none"
    assert said in found.reason
    assert found.nearest


def test_an_adapter_on_a_quantised_model_is_planned(config):
    content = json.loads(Path(SMOL).read_text())
    path = config(content | {"quantization_config": {"load_in_4bit": True}})
    assert planned(model=path, rank=4).reached[0].exposures.value > 1
    assert plan(model=path, method="full", facts=500, progress=False).recall is None


def test_it_needs_no_torch(command):
    assert command("plan", "--model", SMOL, "--facts", "500").stdout.startswith("From 58 published")
    code = f"import sys, recallscope; recallscope.plan(model={SMOL!r}, facts=500); "
    done = subprocess.run(
        [sys.executable, "-c", code + "print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "given",
    [
        {"facts": 1},
        {"facts": 10**12, "rank": 1},
        {"facts": 2, "exposures": 1e-9, "answers": 2},
        {"facts": 10**12, "exposures": 1e300, "batch": 10**12},
        {"target": 0.999999},
        {"method": "lora", "facts": 10**12, "target": 1e-6},
    ],
)
def test_the_smallest_and_largest_questions_have_an_answer(given):
    found = planned(**given)
    assert json.loads(json.dumps(found.to_dict()))["reached"]
    assert "nan" not in said_of(found)
    assert plan_page(found)


def test_rows_and_words_are_those_of_the_answer():
    found = planned()
    first, second = found.rows()
    assert first["exposures_value"] == found.reached[0].exposures.value
    assert second["recall"] == 0.9
    assert repr(found).startswith(f"recall 0.5 after {found.reached[0].exposures.value:.2g} (")


def test_verify_is_refused_by_the_command():
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["plan", "--model", SMOL, "--facts", "500", "--verify"])
    assert done.exit_code != 0
    assert "teaches a sample of your facts" in str(done.exception)


def test_the_figure_has_all_fitted_runs_and_the_case():
    panel = planned(exposures=20).picture().panels[0]
    *series, asked = panel.series
    assert sum(len(each.x) for each in series if each.kind == "measured") == len(fitted_runs())
    assert list(asked.x) == [planned().inputs.shape.parameters]
    assert asked.low[0] < asked.y[0] < asked.high[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_page_and_asks_for_nothing(tmp_path, scheme):
    page = tmp_path / "plan.html"
    found = planned(model=LLAMA, rank=1, facts=3000, exposures=10)
    assert plan_page(found).count("<img alt=") == 2
    write_plan_page(found, page)
    with browser() as chromium:
        for width in (1280, 390):
            tab = open_tab(chromium, page.as_uri(), width, mobile=width == 390)
            tab.page.emulate_media(color_scheme=scheme)
            assert tab.barriers() == []
            assert tab.complaints == []
            assert tab.requests == [page.as_uri()]
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
