"""Runs commands and tells their exit codes and the most memory that each of them had.

For each line ``[SECONDS, [WORD, ...]]`` of standard input, in JSON, prints a line ``{"code": int, "peak": bytes, "messages": str}``.
A command that is not done after SECONDS is killed (code -9).

A process of its own, because what the kernel reports as a child's greatest resident set begins with that of the process that
started it: pytest, which has numpy, netCDF4 and more loaded, would be measured instead of the command. One for many commands,
because starting it takes longer than most of them.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading

for asked in sys.stdin:
    seconds, words = json.loads(asked)
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        late = threading.Timer(seconds, os.kill, (process.pid, 9))
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        said = messages.read().decode(errors="replace")
    print(json.dumps({"code": process.returncode, "peak": usage.ru_maxrss * 1024, "messages": said}), flush=True)
