"""What a release folder holds, and its list of hashes made right again after a change."""

from pathlib import Path

from synth.release.contents import CHECKSUMS, checksum_lines, file_sha256


def files_of(folder: Path) -> dict[str, Path]:
    """Every file by its name from the folder on, in the order of the names."""
    found = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return {path.relative_to(folder).as_posix(): path for path in found}


def contents_of(folder: Path) -> dict[str, bytes]:
    """The bytes of every file."""
    return {name: path.read_bytes() for name, path in files_of(folder).items()}


def seal(folder: Path) -> None:
    """Write the hashes of the files as they are now."""
    hashes = {}
    for name, path in files_of(folder).items():
        if name != CHECKSUMS:
            with path.open("rb") as file:
                hashes[name] = file_sha256(file)
    (folder / CHECKSUMS).write_bytes(checksum_lines(hashes))
