"""Bytes in and out; nothing about findings.

discover  which files there are                      ignore   what .gitignore files say
read      one file's bytes, or why not               write    one file, atomically
journal   many files, all or nothing; recover, undo  runs     the journal's folders; lock: one porter at a time
seal      which journals porter wrote itself
copy      a ported copy of a tree                    git      which files git could not give back
errors    what a person is told, in English and Chinese
"""
