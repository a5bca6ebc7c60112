"""Which lines of edited statements a program executes, told once each, as they run.

Begun with the interpreter: much of what a port edits stands above its first import of torch.
"""

import json
import os
import sys
import threading


def follow(edited, folder):
    """`edited`: a file with the lines of each file, by its whole path."""
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
