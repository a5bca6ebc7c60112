"""A download: who gets the password of a URL, and what is no download."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request

import pytest

from porter.errors import UserError
from porter.fleet.download import _Redirected, download


@contextmanager
def asked(leads_to: str = "") -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Its host, and each path that it was asked for with the login; /moved leads to /file of `leads_to`, or of itself."""
    seen: list[tuple[str, str | None]] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["Authorization"]))
            self.send_response(302 if self.path == "/moved" else 200)
            if self.path == "/moved":
                self.send_header("Location", f"http://{leads_to or self.headers['Host']}/file")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()


def test_a_password_is_for_the_server_that_it_was_given_for(tmp_path):
    login = "Basic bWU6c2VjcmV0"
    with asked() as (other, seen_there), asked(other) as (host, seen):
        with open(download(f"http://me:secret@{host}/moved", str(tmp_path)), "rb") as stream:
            assert stream.read() == b"ok"
        assert (seen, seen_there) == ([("/moved", login)], [("/file", None)])
    with asked() as (host, seen):
        download(f"http://me:secret@{host}/moved", str(tmp_path))
        assert seen == [("/moved", login), ("/file", login)]


def test_nor_is_it_for_another_protocol_of_that_server():
    asked_for = Request("https://example.org/x", headers={"Authorization": "Basic x"})
    for url, login in (("https://example.org/y", "Basic x"), ("http://example.org/y", None)):
        led = _Redirected().redirect_request(asked_for, None, 302, "Found", {}, url)
        assert led is not None and led.get_header("Authorization") == login


def test_a_file_of_this_machine_is_no_download(tmp_path):
    (tmp_path / "x").write_text("mine")
    for url in (f"file://{tmp_path}/x", "data:,mine", "ftp://127.0.0.1:1/x"):
        with pytest.raises(UserError, match="neither http nor https"):
            download(url, str(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_what_fails_names_the_server_and_no_password(tmp_path):
    with asked() as (host, _):
        pass  # nobody listens there any more
    for url, why in (
        (f"http://me:secret@{host}/x", f"cannot be downloaded from {host}: Connection refused"),
        ("http://[::1/x", "cannot be downloaded: Invalid IPv6 URL"),
        ("http:///x", "cannot be downloaded: no host given"),
    ):
        with pytest.raises(UserError) as error:
            download(url, str(tmp_path))
        assert error.value.text("en") == why and "secret" not in error.value.text("zh")
