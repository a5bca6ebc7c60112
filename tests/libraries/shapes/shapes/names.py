from . import ops


def everything():
    return list(ops.__dict__.values())
