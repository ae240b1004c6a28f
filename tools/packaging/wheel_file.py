# SPDX-License-Identifier: Apache-2.0
"""Changes a finished wheel, writes a new one."""

import base64
import hashlib
import os
import zipfile


def _record_row(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def add_license(path, name, text):
    """Adds a file to the licences of the wheel at `path`, to its metadata and to its record; replaces it if it is there."""
    with zipfile.ZipFile(path) as wheel:
        entries = {info.filename: (info, wheel.read(info)) for info in wheel.infolist()}
    info_folder = next(entry.rpartition("/")[0] for entry in entries if entry.endswith(".dist-info/RECORD"))
    added, record, metadata = (f"{info_folder}/{last}" for last in (f"licenses/{name}", "RECORD", "METADATA"))

    row = f"License-File: {name}\n"
    head, blank, body = entries[metadata][1].decode().partition("\n\n")
    if row not in head + "\n":
        entries[metadata] = entries[metadata][0], (head + "\n" + row.rstrip() + blank + body).encode()
    new = zipfile.ZipInfo(added, entries[metadata][0].date_time)
    new.compress_type, new.external_attr = zipfile.ZIP_DEFLATED, entries[metadata][0].external_attr
    entries[added] = new, text.encode()

    rows = [_record_row(entry, content) for entry, (info, content) in entries.items() if entry != record and not info.is_dir()]
    entries[record] = entries[record][0], "".join([*rows, f"{record},,\n"]).encode()
    scratch = f"{path}.new"
    with zipfile.ZipFile(scratch, "w") as wheel:
        for info, content in entries.values():
            wheel.writestr(info, content, compress_type=zipfile.ZIP_DEFLATED)
    os.replace(scratch, path)


def write(path, files):
    """A wheel with these files ({name: bytes}; its metadata are among them) and a record of them."""
    [info] = {name.split("/")[0] for name in files if ".dist-info/" in name}
    rows = [_record_row(name, content) for name, content in files.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in {**files, f"{info}/RECORD": "".join([*rows, f"{info}/RECORD,,\n"]).encode()}.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes each time
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, content)
