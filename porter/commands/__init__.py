"""What each command does; cli.py only says what it is called with."""
