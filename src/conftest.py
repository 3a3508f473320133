"""The examples of what needs an extra are left out where that is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("fastapi") and find_spec("orjson") else ["elman/serve/*"]
