"""Builds the package for pip, with the standard library only (PEP 517, PEP 660).

So `pip install ./sdk/python` needs nothing from an index, also without a network and in a new virtual
environment, which has no setuptools since Python 3.12.
"""
import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "faina"
WHEN = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes


def _read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def _field(name):
    """Of [project] in pyproject.toml; Python has no reader for TOML before 3.11."""
    return re.search(rf'^{name} = "(.*)"$', _read("pyproject.toml"), re.M)[1]


def _version():
    return _field("version")


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {_version()}\nSummary: {_field('description')}\n"
            f"License: MIT\nRequires-Python: {_field('requires-python')}\n"
            f"Description-Content-Type: text/markdown\n\n{_read('README.md')}")


def _info():
    return f"{PACKAGE}-{_version()}.dist-info"


def _sources():
    """The files of the package, as paths in it and as they are."""
    for where, folders, names in os.walk(os.path.join(HERE, PACKAGE)):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith((".py", ".typed")):
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    yield os.path.relpath(path, HERE).replace(os.sep, "/"), file.read()


def _write_wheel(folder, files):
    """A wheel with these files and what describes it. Returns its name."""
    files = [*files, (f"{_info()}/METADATA", _metadata().encode()),
             (f"{_info()}/WHEEL", b"Wheel-Version: 1.0\nGenerator: build_faina\nRoot-Is-Purelib: true\nTag: py3-none-any\n")]
    record = ""
    name = f"{PACKAGE}-{_version()}-py3-none-any.whl"
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files.append((f"{_info()}/RECORD", f"{record}{_info()}/RECORD,,\n".encode()))
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            entry = zipfile.ZipInfo(path, WHEN)
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, _sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, [(f"{PACKAGE}.pth", f"{HERE}\n".encode())])


def build_sdist(sdist_directory, config_settings=None):
    base = f"{PACKAGE}-{_version()}"
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as out:
        for name in ("pyproject.toml", "README.md", "build_faina.py", PACKAGE):
            out.add(os.path.join(HERE, name), f"{base}/{name}",
                    filter=lambda entry: None if "__pycache__" in entry.name else entry)
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(_metadata().encode())
        out.addfile(entry, io.BytesIO(_metadata().encode()))
    return base + ".tar.gz"
