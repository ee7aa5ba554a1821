"""The worker process that runs whole commands: ``python -m workers.commands``.

It imports little, because what the kernel reports as a child's greatest resident set begins with that of the process
that forked it. Each request has the command as a JSON list in ``argv``.
"""

import json
import os
import sys
import time


def run(argv: list[str], log: str) -> dict[str, object]:
    """Runs one command to its end; its messages go to the file ``log``."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, fd, log, flags, 0o666) for fd in (1, 2)]
    began = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        with open(log, errors="replace") as text:
            return {"error": f"{argv[0]} gave {os.waitstatus_to_exitcode(status)}: {text.read(500)}"}
    cpu = usage.ru_utime + usage.ru_stime
    return {"wall": wall, "cpu": cpu, "reads": 1, "bytes": 0, "peak": usage.ru_maxrss * 1024}


for line in sys.stdin:
    request = dict(field.split("=", 1) for field in line.rstrip("\n").split("\t"))
    if request["do"] == "hello":
        reply: dict[str, object] = {"name": "commands", "version": ""}
    else:
        reply = run(json.loads(request["argv"]), request["log"])
    print(json.dumps(reply), flush=True)
