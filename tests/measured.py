"""Run one command and tell its exit code and the most memory that it had: ``measured.py SECONDS COMMAND...``.

A process of its own, because what the kernel reports as a child's greatest resident set begins with that of the
process that forked it: pytest, which has numpy, netCDF4 and more loaded, would be measured instead of the command.

Prints ``{"code": int, "peak": bytes}``; the command's messages go where this process's go. A command that is not
done after SECONDS is killed (code -9).
"""

import json
import resource
import subprocess
import sys

process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
try:
    code = process.wait(float(sys.argv[1]))
except subprocess.TimeoutExpired:
    process.kill()
    code = process.wait()
print(json.dumps({"code": code, "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}))
