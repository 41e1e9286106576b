"""Workers, as people call them."""

from shared.domain.process_name import parse_owner


def name_worker(owner: str) -> str:
    """`executor.4711@web-1/3f2a` as "executor 4711 on web-1"; anything else as it is."""
    named = parse_owner(owner.partition("/")[0])
    if named is None or not named.host:
        return owner
    return f"{'-'.join(named.roles)} {named.pid} on {named.host}"
