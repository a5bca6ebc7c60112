"""The lines of a log: bytes in, what each line says out. What is made of it is the business of others."""
