"""The look for installed plug-ins: cheap, kept, and taken again when something changed."""

import os
from pathlib import Path

import pytest

from weft.extend import installed
from weft.extend.installed import look

MANIFEST = '[plugin]\nname = "{name}"\n'


def install(site: Path, name: str, *, manifest: str | None = None, group: str = "weft.plugins") -> Path:
    package = site / f"pkg_{name}"
    package.mkdir(parents=True)
    text = MANIFEST.format(name=name) if manifest is None else manifest
    (package / "plugin.toml").write_text(text)
    info = site / f"pkg_{name}-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n[{group}]\n{name} = pkg_{name}\n")
    return package


def names(home: Path, site: Path) -> list[str]:
    return [seen.name for seen in look(home, [str(site)])]


def test_an_entry_point_names_the_package_of_a_manifest(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "one")
    install(site, "other", group="pytest11")
    (seen,) = look(tmp_path / "home", [str(site)])
    assert seen.name == "one" and seen.value == {"plugin": {"name": "one"}}


def test_a_second_look_reads_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site-packages"
    install(site, "one")
    first = look(tmp_path, [str(site)])
    monkeypatch.setattr(installed, "_scan", lambda folders: pytest.fail("scanned again"))
    assert look(tmp_path, [str(site)]) == first


def test_a_plugin_that_is_installed_or_removed_is_seen(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "one")
    assert names(tmp_path, site) == ["one"]
    install(site, "two")
    os.utime(site, ns=(1, 1))
    assert names(tmp_path, site) == ["one", "two"]


def test_a_changed_manifest_is_read_again(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    package = install(site, "one")
    look(tmp_path, [str(site)])
    (package / "plugin.toml").write_text('[plugin]\nname = "one"\nversion = "2"\n')
    (seen,) = look(tmp_path, [str(site)])
    assert seen.value == {"plugin": {"name": "one", "version": "2"}}


def test_a_broken_or_missing_manifest_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "one", manifest="[plugin")
    (install(site, "two") / "plugin.toml").unlink()
    found = {seen.name: seen.problem for seen in look(tmp_path, [str(site)])}
    assert "not TOML" in found["one"] and "no plugin.toml" in found["two"]


def test_a_repository_is_no_place_of_installed_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "evil")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(tmp_path) not in installed.site_folders()


def test_a_home_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, "one")
    (tmp_path / "home").write_text("a file")
    assert names(tmp_path / "home", site) == ["one"]
