"""An engineer's questions: shapes of models, laws that answer, levers, sizes solved for."""

import json
import math
import re

import pytest
from made_parts import made

from browser import browser, open_tab
from recallscope import ProblemError, plan
from recallscope.planning.asking import ask
from recallscope.planning.inputs import Inputs
from recallscope.planning.page import plan_page, write_plan_page
from recallscope.planning.plan_in_words import details, first_line
from recallscope.planning.shape import ModelShape, shape_from_config
from recallscope.theory.law import Law
from recallscope.theory.published import LESS, MORE, largest_adapter
from recallscope.theory.question import Capacity, Ends, Limit, Question

GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}
GPT2 |= {"vocab_size": 50257}
LLAMA = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336}
LLAMA |= {"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8}
LLAMA |= {"tie_word_embeddings": False, "torch_dtype": "bfloat16", "vocab_size": 128256}
SMALL_LORA = {"method": "lora", "d_model": 128, "layers": 4, "heads": 4, "vocab": 500, "rank": 16}
SMALL_LORA |= {"target_modules": "all-linear"}
SMOL = {"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536}
SMOL |= {"num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3}
SMOL |= {"tie_word_embeddings": True, "vocab_size": 49152}


@pytest.mark.parametrize(
    ("content", "parameters", "adapter"),
    [(GPT2, 124_439_808, 589_824), (LLAMA, 8_030_261_248, 6_815_744), (SMOL, 134_515_008, 921_600)],
)
def test_parameters_of_published_models_and_of_their_usual_adapters(
    config, content, parameters, adapter
):
    """As their libraries count them; adapters have rank 16 on the default modules of PEFT."""
    shape = shape_from_config(config(content))
    assert shape.parameters == parameters
    assert shape.adapter(16, shape.usual_modules()) == adapter


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": -3}, "hidden_size"),
        ({"hidden_size": 1e30}, "hidden_size"),
        ({"hidden_size": None}, "has no hidden_size or n_embd"),
        ({"num_local_experts": 8}, "experts"),
    ],
)
def test_configurations_that_are_wrong(config, change, said):
    with pytest.raises(ProblemError, match=said):
        shape_from_config(config(LLAMA | change))


def test_a_folder_and_an_inner_configuration_are_read(config):
    path = config({"text_config": SMOL, "quantization_config": {"load_in_4bit": True}})
    shape = shape_from_config(path.parent)
    assert (shape.dim, shape.precision) == (576, "int4")


def test_published_values_answer_for_a_small_lora_beyond_what_was_trained_here():
    found = plan(**SMALL_LORA | {"rank": 64}, facts=50_000, exposures=100, progress=False)
    answers = {answer.law: answer for answer in found.laws}
    assert answers["small-transformers"].kind == "fitted"
    answer = answers["allen-zhu-li"]
    assert answer.kind == "published"
    # 1 bit for each parameter; errors here, wider for an adapter that is larger than any.
    trained = found.inputs.trained
    space = trained / math.log2(50_000)
    wider = 1 + 0.5 * math.log(trained / largest_adapter())
    assert wider > 1
    assert answer.capacity.facts.value == pytest.approx(space)
    assert answer.capacity.facts.low == pytest.approx(space / LESS**wider)
    assert answer.capacity.facts.high == pytest.approx(space * MORE**wider)
    assert found.status == "extrapolated"


def test_the_span_of_published_values_is_that_of_all_that_apply():
    shape = ModelShape(dim=64, vocab=1000)
    few, many = (
        ask(Inputs(method="pretrain", shape=shape, facts=10**6, exposures=exposures))[0].capacity
        for exposures in (999, 1000)
    )
    assert many.facts.value == pytest.approx(few.facts.value, rel=0.01)
    assert many.facts.high > 1.5 * few.facts.high  # 4.23 bits of random strings apply too


def test_below_published_exposures_recall_may_be_zero(config):
    given = {"model": config(LLAMA), "method": "pretrain", "facts": 4 * 10**8, "progress": False}
    few, seen = (plan(exposures=exposures, **given) for exposures in (10, 100))
    assert few.recall.low == 0
    assert few.recall.value == pytest.approx(
        0.1 * 8_030_261_248 / math.log2(4 * 10**8) / (4 * 10**8)
    )
    assert few.recall.high > 0.2
    assert few.limit is Limit.EXPOSURES
    assert seen.recall.low > 0


def test_the_first_line_says_how_far_beyond_all_experiments_a_model_is(config):
    found = plan(model=config(LLAMA), method="pretrain", facts=10**9, exposures=10, progress=False)
    said = first_line(found)
    assert said.startswith("Extrapolated: 9,000 times more parameters than anything tested here")
    assert found.beyond == pytest.approx(8_030_261_248 / 888800)


def test_short_names_of_precisions_are_known(config):
    given = {"model": config(LLAMA), "method": "full", "facts": 500, "exposures": 100}
    found = plan(precision="bf16", progress=False, **given)
    assert found.inputs.shape.precision == "bfloat16"


@pytest.mark.parametrize("sought", ["facts", "rank", "exposures"])
def test_the_size_that_is_missing_is_solved_for(sought):
    given = {"rank": 4, "facts": 5000, "exposures": 300.0}
    del given[sought]
    small = {name: size for name, size in SMALL_LORA.items() if name != "rank"}
    found = plan(**small, progress=False, **given)
    assert found.solved.name == sought
    low, value, high = found.solved.low or 0, found.solved.value, found.solved.high
    assert low <= value <= (high or math.inf)
    assert 0.9 <= found.recall.value < 1
    smaller = plan(**small, progress=False, **given, **{sought: value * 2})
    assert (smaller.recall.value < 0.9) == (sought == "facts")


def test_a_memory_is_answered_by_its_derived_law():
    found = plan(method="memory", d_model=48, facts=1024, exposures=1000, progress=False)
    (answer,) = found.laws
    assert (answer.law, answer.kind, str(found.status)) == ("converged", "derived", "tested")
    assert found.limit is Limit.CAPACITY
    assert found.recall.low < found.recall.value < found.recall.high


def test_a_memory_with_a_context_is_answered_by_the_law_of_training():
    found = plan(d_model=64, facts=256, exposures=2, context=8, progress=False)
    assert found.laws[0].law == "trained"
    assert found.limit is Limit.UNSEEN  # at two exposures in the mean, one in seven is not drawn


def test_fewer_answers_leave_space_for_more_facts():
    many, few = (
        plan(method="memory", d_model=32, facts=400, answers=answers, exposures=9, progress=False)
        for answers in (400, 8)
    )
    assert few.recall.value > 2 * many.recall.value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"precision": "int4", "method": "pretrain"}, "quantised"),
        ({"frequencies": "zipf", "context": 4}, "unequal frequencies"),
        ({"frequencies": "zipf", "facts": 10**9}, "at most 10,000,000 in a memory"),
        ({"method": "memory", "rank": 4, "context": 4}, "rank"),
        ({"answers": 5, "context": 4}, "answers"),
        ({"optimiser": "sgd", "context": 4}, "sgd"),
    ],
)
def test_a_missing_law_is_named_with_the_nearest_question(given, said):
    found = plan(**{"d_model": 64, "facts": 500, "exposures": 10, "progress": False} | given)
    assert str(found.status) == "none"
    assert found.recall is None
    assert said in found.reason
    assert found.nearest


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give all but one"),
        ({"facts": 10, "exposures": 2, "d_model": 8, "tokens": 100}, "tokens go with"),
        ({"method": "full", "solve_for": "rank", "facts": 9, "d_model": 8}, "--solve-for"),
        ({"method": "loar"}, "did you mean lora"),
        ({"method": "edit"}, "there is no method 'edit'"),
        ({"d_model": 8, "method": "lora", "rank": 2, "batch": 8}, "batch goes with pretrained"),
        ({"d_model": 8, "method": "lora", "rank": 2, "target_modules": "q"}, "q_proj"),
        ({"d_model": 8, "facts": 1.5, "exposures": 1}, "facts must be"),
        ({"d_model": 8, "facts": 5, "exposures": -1}, "above 0"),
        ({"d_model": 8, "facts": 5, "exposures": 1, "target": 2}, "target"),
    ],
)
def test_mistakes_say_what_was_expected(given, said):
    with pytest.raises(ProblemError, match=said):
        plan(progress=False, **given)


def test_a_law_of_a_plugin_answers_without_a_change(monkeypatch):
    """Laws are used because they are registered."""

    def capacity(question: Question) -> Capacity | str:
        if not question.zipf_exponent:
            return "it is about Zipf frequencies"
        half = Ends(0.5, 0.4, 0.6)
        return Capacity(recall=half, facts=half, limit=Limit.CAPACITY, said="half")

    law = made(
        Law,
        name="zipf-law",
        applies=lambda problem: "no",
        predict=lambda problems, given: [],
        kind="derived",
        priority=200,
        capacity=capacity,
        origin="A plugin.",
    )
    from recallscope.planning import asking

    monkeypatch.setattr(asking, "names", lambda kind: ["converged", "zipf-law"])
    known = asking.law_named
    monkeypatch.setattr(asking, "law_named", lambda n: law if n == "zipf-law" else known(n))
    asking.ask.cache_clear()
    given = {"method": "full", "d_model": 64, "facts": 500, "exposures": 10, "progress": False}
    found = plan(frequencies="zipf", **given)
    assert found.laws[0].law == "zipf-law"
    assert found.recall == Ends(0.5, 0.4, 0.6)
    asking.ask.cache_clear()


def test_levers_and_their_table():
    small = SMALL_LORA | {"rank": 4, "target_modules": None, "layers": 2}
    found = plan(**small, facts=2000, exposures=30, progress=False)
    names = [each.name for each in found.levers]
    assert set(names) == {"rank", "exposures", "target_modules"}
    exposures = found.levers[names.index("exposures")]
    assert exposures.cost == pytest.approx(2)
    assert exposures.trained == 1
    assert found.levers[names.index("rank")].cost < 1.1
    assert found.table.row_values[2] == 4 * found.table.row_values[0]


def test_a_wider_model_has_its_proportions_in_levers_and_in_their_table(config):
    found = plan(model=config(SMOL), method="pretrain", facts=10**7, exposures=10, progress=False)
    (wider,) = [each for each in found.levers if each.name == "d_model"]
    place = found.table.row_values if found.table.rows == "d_model" else found.table.column_values
    assert place[1] == 1152
    in_table = found.table.recall
    at = in_table[1][0] if found.table.rows == "d_model" else in_table[0][1]
    assert at == wider.recall


def test_json_has_no_number_without_an_interval(config):
    given = {"model": config(SMOL), "method": "pretrain", "facts": 10**7, "exposures": 30}
    found = plan(**given, progress=False).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert set(found["recall"]) == {"value", "low", "high"}
    assert {"limit", "levers", "laws", "status"} <= set(found)
    for each in [*found["levers"], *(law["capacity"] for law in found["laws"])]:
        assert each["recall"]["low"] <= each["recall"]["value"] <= each["recall"]["high"]


def test_the_page_has_the_answer_and_quotes_what_it_was_given(config):
    path = config(SMOL | {"model_type": "<script>alert(1)</script>"})
    found = plan(model=path, method="pretrain", facts=10**7, exposures=30, progress=False)
    page = plan_page(found)
    assert "<script" not in page
    assert page.count("<img alt=") == 2
    assert "errors that published values had" in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_page_and_asks_for_nothing(config, tmp_path, scheme):
    page = tmp_path / "plan.html"
    given = {"model": config(SMOL), "method": "pretrain", "facts": 10**7, "exposures": 30}
    write_plan_page(plan(**given, progress=False), page)
    with browser() as chromium:
        for width in (1280, 390):
            tab = open_tab(chromium, page.as_uri(), width, mobile=width == 390)
            tab.page.emulate_media(color_scheme=scheme)
            assert tab.barriers() == []
            assert tab.complaints == []
            assert tab.requests == [page.as_uri()]
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("model", "law"),
    [
        ({"method": "memory", "d_model": 64}, "converged"),
        ({"method": "pretrain", "d_model": 8, "layers": 1, "vocab": 64}, "small-transformers"),
        ({"method": "lora", "d_model": 64, "layers": 2, "rank": 1}, "allen-zhu-li"),
    ],
)
def test_the_rarest_of_unequal_facts_are_lost(model, law):
    """The more unequal they are, the more of what is asked is stored; the facts are named."""
    given = {"facts": 20_000, "exposures": 1000, "progress": False, **model}
    alike = plan(**given)
    found = [plan(frequencies="zipf", zipf_exponent=each, **given) for each in (0.01, 1.0, 1.5)]
    assert all(law in [each.law for each in one.laws] for one in found)
    recalls = [each.recall.value for each in found]
    assert alike.recall.value == pytest.approx(recalls[0], abs=0.03)
    assert recalls[0] < recalls[1] < recalls[2]
    assert found[1].recall.low <= recalls[1] <= found[1].recall.high
    said = " ".join(details(found[1]))
    assert f"which make up {100 * (1 - recalls[1]):.2g} % of what is asked" in said
    assert "rarest" not in " ".join(details(alike))


def test_an_exponent_needs_frequencies():
    with pytest.raises(ProblemError, match="zipf_exponent goes with frequencies zipf"):
        plan(method="memory", d_model=64, facts=100, exposures=9, zipf_exponent=1.0)


def test_facts_far_beyond_capacity_are_at_chance():
    found = plan(method="memory", d_model=16, facts=10**9, exposures=1, progress=False)
    assert found.recall.value == pytest.approx(0, abs=1e-6)


def test_an_interval_that_says_nothing_is_not_printed(command):
    """What is known better is: the facts that could be stored, the limit, and how to know more."""
    model = "examples/models/smollm2-135m.json"
    asked = ("plan", "--model", model, "--method", "pretrain", "--facts", "8M")
    said = command(*asked, "--exposures", "100").stdout
    assert "no law can say yet how many will be recalled" in said
    assert "could store about" in said
    assert "--verify trains a small one on this machine" in said
    assert not re.search(r"recall (could be )?\d", said.partition("Law ")[0])
    document = json.loads(command(*asked, "--exposures", "100", "--json").stdout)
    assert document["recall"]["high"] - document["recall"]["low"] > 0.5  # programs have it
    known = ("--method", "pretrain", "--facts", "1M", "--exposures", "100")
    assert "recall could be 1.00 (1.00 to 1.00)" in command("plan", "--model", model, *known).stdout
