"""Lines that record, put into a training program and taken out again."""

# what an option stands for where it is given alone, and within --baseline
SEED = 1234
NORMED_STEPS = "1"
