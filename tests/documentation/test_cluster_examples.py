"""Checks of the examples for clusters that need no cluster."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"
FILES = sorted(EXAMPLES.iterdir())


def test_the_manifests_parse_and_so_do_their_scripts():
    manifests = list(yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text()))
    assert [each["kind"] for each in manifests] == ["NetworkPolicy", "Service", "Job", "Deployment"]
    for manifest in manifests[2:]:
        (container,) = manifest["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["bash", "-euc"]
        subprocess.run(["bash", "-n", "-c", *container["args"]], check=True)


@pytest.mark.parametrize("name", ["slurm.sh", "slurm-array.sh"])
def test_scripts_parse(name):
    subprocess.run(["bash", "-n", EXAMPLES / name], check=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_example_says_that_it_has_not_been_run(file):
    assert "An example that has not been run on a cluster here" in file.read_text()


def test_ray_knows_its_options():
    help_of = [sys.executable, "-m", "ray.scripts.scripts", "start", "--help"]
    known = subprocess.run(help_of, capture_output=True, text=True, check=True).stdout
    found = set()
    for name in ("slurm.sh", "kubernetes.yaml"):
        text = (EXAMPLES / name).read_text().replace("\\\n", " ")
        lists = r"^(?:ports|node)=\(.*?\)$|ray start [^\n]*"
        for piece in re.findall(lists, text, re.MULTILINE | re.DOTALL):
            found |= set(re.findall(r"(?<!\S)--[a-z-]+", piece))
    assert len(found) >= 15
    assert found <= set(re.findall(r"--[a-z-]+", known))
