"""The trees that facts share: the latest are kept, and not more than a number of bytes of their texts."""

from porter.python import trees


def _text(number: int, size: int) -> bytes:
    return b"x = %d\n" % number + b"#" * size


def test_a_text_is_parsed_once_as_long_as_few_others_are_asked() -> None:
    text = _text(0, 100)
    tree = trees.parse(text)
    trees.parse(_text(1, 100))
    assert trees.parse(bytes(bytearray(text))) is tree


def test_of_many_texts_the_latest_are_kept() -> None:
    first, second, many = _text(0, 90_000), _text(1, 90_000), [_text(n, 90_000) for n in range(2, 6)]
    old, asked_again = trees.parse(first), trees.parse(second)
    for text in many:
        trees.parse(text)
        assert trees.parse(second) is asked_again
    assert trees.parse(first) is not old


def test_a_long_text_leaves_the_others_where_they_are() -> None:
    text = _text(0, 100)
    tree = trees.parse(text)
    trees.parse(_text(1, 300_000))
    assert trees.parse(text) is tree


def test_what_is_no_python_is_not_kept_and_displaces_nothing() -> None:
    text = _text(0, 100)
    tree = trees.parse(text)
    for _ in range(10):
        assert trees.parse(b"x = (\n" + b"#" * 90_000) is None
    assert trees.parse(text) is tree
