import importlib


def load_ext(name, functions):
    return importlib.import_module("shapes." + name)
