"""A Debian host without the repository that has PostgreSQL: its programs, as far as is needed."""

from pathlib import Path

APT = """\
#!/bin/sh
indexed={folder}/indexed
case $1 in
update)
    if [ -s {list} ]; then
        if [ ! -s {key} ]; then
            echo "E: The repository is not signed." >&2
            exit 100
        fi
        : > "$indexed"
    fi
    echo "All packages are up to date."
    ;;
install)
    shift
    for word; do
        case $word in
        -*) ;;
        postgresql-13)
            if [ ! -e "$indexed" ]; then
                echo "E: Unable to locate package $word" >&2
                exit 100
            fi
            : > {folder}/installed
            ;;
        *)
            echo "E: Unable to locate package $word" >&2
            exit 100
            ;;
        esac
    done
    ;;
esac
"""

APT_CACHE = """\
#!/bin/sh
if [ "$1" = search ]; then
    echo "postgresql-13 - The World's Most Advanced Open Source Relational Database"
fi
"""

SYSTEMCTL = """\
#!/bin/sh
case $1 in
enable | start)
    if [ ! -e {folder}/installed ]; then
        echo "Failed to $1 unit: Unit file $2.service does not exist." >&2
        exit 1
    fi
    : > "{folder}/$1"
    ;;
is-active) test -e {folder}/start ;;
is-enabled) test -e {folder}/enable ;;
esac
"""

CURL = """\
#!/bin/sh
echo "-----BEGIN PGP PUBLIC KEY BLOCK-----" > "$2"
"""


class DebianStubs:
    """The programs in a folder of their own; what they remember lies beside them.

    The package is found once `list` names the repository, `key` holds its key, and the lists were
    read anew.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.list = folder / "pgdg.list"
        self.key = folder / "pgdg.asc"
        self.programs.mkdir(parents=True)
        texts = {"apt": APT, "apt-cache": APT_CACHE, "systemctl": SYSTEMCTL, "curl": CURL}
        for name, text in texts.items():
            program = self.programs / name
            program.write_text(text.format(folder=folder, list=self.list, key=self.key))
            program.chmod(0o755)
