import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from elman.streams import DATASETS, cache_folder, data_folders, load

# rows and inputs of the files, a date counting as six
SIZES = {
    "kin8nm": (8192, 8),
    "puma8nh": (8192, 8),
    "puma32h": (8192, 32),
    "puma32fm_1024": (1024, 32),
    "elevators": (16_599, 18),
    "etth1": (17_420, 12),
    "aep_hourly": (121_273, 6),
    "nab_nyc_taxi": (10_320, 6),
    "bike_sharing_hourly": (17_379, 18),
    "gas_turbine_nox": (36_733, 10),
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("ELMAN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "elman"
    folder.mkdir()
    return folder


def write(path, target):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(f"a,y\n0,{target}\n")


@pytest.mark.parametrize("name", DATASETS)
def test_real_files_load_whole(name):
    try:
        stream = load(name)
    except FileNotFoundError:
        pytest.skip(f"needs the file {name}.csv.gz in the folder that ELMAN_DATA names")
    X, y = stream.take()
    assert X.shape == SIZES[name]
    assert y.shape == SIZES[name][:1]
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
    assert (stream.name, stream.source) == (name, "real")


def test_the_named_folder_comes_before_the_cache(cache, tmp_path, monkeypatch):
    write(cache / "kin8nm.csv.gz", 1)
    assert load("kin8nm").take()[1] == [1.0]
    named = tmp_path / "data"
    named.mkdir()
    monkeypatch.setenv("ELMAN_DATA", str(named))
    assert load("kin8nm").take()[1] == [1.0]
    write(named / "kin8nm.csv.gz", 2)
    assert load("kin8nm").take()[1] == [2.0]


def test_a_plain_file_is_found_too(cache):
    (cache / "etth1.csv").write_text("a,y\n1,2\n", encoding="utf-8")
    assert load("etth1").take()[1] == [2.0]


@pytest.mark.parametrize("name", ["kinematics", "KIN8NM", "Kinematics"])
def test_a_dataset_answers_to_its_other_names(cache, name):
    write(cache / "kin8nm.csv.gz", 1)
    assert load(name).name == "kin8nm"


def test_puma32fm_is_simulated_and_says_so():
    stream = load("puma32fm")
    assert (stream.name, stream.source, stream.endless) == ("puma32fm", "simulated", True)


@pytest.mark.usefixtures("cache")
def test_a_missing_file_says_how_to_download_it():
    with pytest.raises(
        FileNotFoundError, match=r"puma8nh\.csv\.gz is in none of .*: elman data fetch puma8nh$"
    ):
        load("puma8NH")


@pytest.mark.usefixtures("cache")
def test_a_missing_file_that_cannot_be_downloaded_says_where_to_put_it():
    with pytest.raises(
        FileNotFoundError, match=r"put the file, its target in the last column, into .*elman or"
    ):
        load("etth1")


def test_an_unknown_name_says_which_are_known():
    with pytest.raises(
        ValueError, match=r"no dataset is called 'mnist'; there are kinematics, kin8nm, .*puma32fm"
    ):
        load("mnist")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/elman")),
        ("linux", {"HOME": "/people/ada"}, Path("/people/ada/.cache/elman")),
        ("darwin", {"HOME": "/Users/ada"}, Path("/Users/ada/Library/Caches/elman")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/elman")),
    ],
)
def test_the_cache_is_where_the_platform_has_it(monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "ELMAN_DATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == expected
    assert data_folders() == [expected]
