"""Bytes in and out; nothing about findings.

root      which directory is the project
discover  which files there are                      ignore   what .gitignore files say
read      one file's bytes, or why not               write    one file, atomically
journal   many files, all or nothing; recover, undo  runs     the journal's folders; lock: one porter at a time
seal      which journals porter wrote itself         git      which files git could not give back
copy      a ported copy of a tree                    record   what porter wrote into it
pieces    what a copy consists of, where its links lead
tracked   what git tracks, from its index           all_files, script_texts  every file; scripts as text
errors    what a person is told, in English and Chinese
"""
