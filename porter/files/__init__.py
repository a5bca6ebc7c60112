"""Bytes in and out; nothing about findings.

discover  which files there are                      ignore   what .gitignore files say
read      one file's bytes, or why not               write    one file, atomically
journal   many files, all or nothing; recover, undo  runs     the journal's folders; lock: one porter at a time
copy      a ported copy of a tree                    git      which files git could not give back
cache     what was found before                      tracked  what git tracks, from its index
errors    what a person is told, in English and Chinese
"""
