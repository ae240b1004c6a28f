# SPDX-License-Identifier: Apache-2.0
"""Every table of others in the sources has a notice beside it, and packages get the notices of all that is in them."""

import importlib.util
import pathlib
import re
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "packaging"))

import notices  # noqa: E402
import third_party  # noqa: E402
import wheel_file  # noqa: E402

NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:e[+-]?\d+)?)[uUlLfF]*(?![\w.])")
TABLE_SIZE = 200  # so many numbers in one initializer were not typed by us


def package_check():
    spec = importlib.util.spec_from_file_location("package_notices", ROOT / "tests/packages/notices.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sources():
    """Of what is installed."""
    for folder in ("millstream", "cli", "python/src", "python/millstream"):
        for pattern in ("*.cc", "*.h", "*.py"):
            yield from (path for path in (ROOT / folder).rglob(pattern) if not path.name.endswith("_test.cc"))


def tables():
    for path in sources():
        initializers = re.findall(r"=\s*[{\[(]([^;]*?)[}\])];?\n", path.read_text(encoding="utf-8"))
        if any(len(NUMBER.findall(initializer)) > TABLE_SIZE for initializer in initializers):
            yield str(path.relative_to(ROOT))
    for path in (ROOT / "data").rglob("*"):
        if path.is_file() and path.suffix not in (".md", ".notice"):
            yield str(path.relative_to(ROOT))


def test_every_table_has_a_notice():
    noticed = set().union(*(component.files for component in third_party.table_components()))
    found = set(tables())
    assert "millstream/ops/random/sobol_numbers.cc" in found  # the search itself works
    assert found == noticed


def test_the_check_of_packages_knows_every_table():
    known = {pathlib.Path(name).parent if name.startswith("data") else name for name in package_check().TABLES}
    assert {pathlib.Path(name).parent if name.startswith("data") else name for name in tables()} == known


def test_every_source_is_ours_or_has_a_notice():
    noticed = set().union(*(component.files for component in third_party.table_components()))
    for path in sources():
        line = next((line for line in path.read_text(encoding="utf-8").splitlines()[:3] if "SPDX-License-Identifier: " in line), "")
        if str(path.relative_to(ROOT)) not in noticed:
            assert line.endswith("SPDX-License-Identifier: Apache-2.0"), path


def test_a_library_is_listed_with_its_packages_copyright():
    [zlib] = third_party.debian_components({notices.library_in_system("libz-0123abcd.so.1"): "libz-0123abcd.so.1"})
    assert zlib.name == "zlib1g" and zlib.files == {"libz-0123abcd.so.1"} and "Jean-loup Gailly" in zlib.text
    assert "Jean-loup Gailly" in notices.render([zlib])


def test_a_library_of_nobody_is_an_error():
    with pytest.raises(ValueError, match="libnobody"):
        notices.library_in_system("libnobody-0123abcd.so.1")


def test_licences_that_are_referred_to_are_included():
    text = notices.render([third_party.Component("a", "see /usr/share/common-licenses/Apache-2.0.", {"b"})])
    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in text


def test_the_check_of_packages_finds_what_is_missing():
    check = package_check()
    whole = notices.render([*third_party.table_components(), *(third_party.Component(name, "Copyright " * 50, {"headers"}) for name in check.HEADERS),
                            third_party.Component("zlib1g", "Copyright " * 50, {"libz.so.1"})])
    assert not list(check.missing(whole, ["libz.so.1"]))
    assert list(check.missing(whole, ["libother.so.1"])) == ["libother.so.1"]
    assert list(check.missing(whole.replace("unicode_script.cc", ""), [])) == ["millstream/ops/strings/unicode_script.cc"]
    assert list(check.missing(whole + "see /usr/share/common-licenses/GPL-2", [])) == ["the text of /usr/share/common-licenses/GPL-2, which a notice refers to"]


def test_a_wheel_gets_the_file_in_its_metadata_and_record(tmp_path):
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("a/__init__.py", "")
        wheel.writestr("a-1.dist-info/METADATA", "Metadata-Version: 2.4\nName: a\n\nAbout a.\n")
        wheel.writestr("a-1.dist-info/RECORD", "")
    for _ in range(2):  # the second time replaces it
        wheel_file.add_license(path, "THIRD_PARTY_NOTICES.txt", "notice")
    with zipfile.ZipFile(path) as wheel:
        assert wheel.read("a-1.dist-info/licenses/THIRD_PARTY_NOTICES.txt") == b"notice"
        assert wheel.read("a-1.dist-info/METADATA").decode().startswith("Metadata-Version: 2.4\nName: a\nLicense-File: THIRD_PARTY_NOTICES.txt\n\nAbout")
        rows = wheel.read("a-1.dist-info/RECORD").decode().splitlines()
    assert [row.split(",")[0] for row in rows].count("a-1.dist-info/licenses/THIRD_PARTY_NOTICES.txt") == 1
    assert rows[-1] == "a-1.dist-info/RECORD,,"
