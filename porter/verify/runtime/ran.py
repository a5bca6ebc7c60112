"""Which lines of edited statements a program executes: each process writes a line once, as it runs.

`sitecustomize.py` begins it with the interpreter: much of what a port edits stands above its first import of torch.
"""

import json
import os
import sys
import threading


def follow(edited, folder):
    """`edited`: a JSON file with the numbers of the edited lines, by the absolute path of the source. `folder`: where each process
    writes a file of what it ran."""
    with open(edited, encoding="utf-8") as stream:
        left = {path: set(lines) for path, lines in json.load(stream).items()}

    def enter(frame, event, argument):
        return line if frame.f_code.co_filename in left else None

    def line(frame, event, argument):
        if event == "line":
            path, number = frame.f_code.co_filename, frame.f_lineno
            lines = left.get(path)
            if lines and number in lines:
                lines.discard(number)
                with open(os.path.join(folder, f"{os.getpid()}.ran"), "a", encoding="utf-8") as stream:
                    stream.write(f"{path}\t{number}\n")
                if not lines:
                    del left[path]
                    if not left:
                        sys.settrace(None)
                        threading.settrace(None)
        return line

    sys.settrace(enter)
    threading.settrace(enter)
