"""Lines that record, put into a training program and taken out again."""
