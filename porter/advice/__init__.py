"""What to do for precision and speed once the port runs: data in rules/advice, shown only where its trigger holds."""
