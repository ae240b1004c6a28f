# SPDX-License-Identifier: Apache-2.0
"""The login of the status page, in a browser of another user than the job's."""
import os
import subprocess

import devtools
import pytest
from cluster_processes import Cluster
from conftest import PROGRAM

TOKEN = "open-sesame-0123456789"
NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to run a browser as another user")


@pytest.fixture(scope="module")
def stranger():
    browser = devtools.Browser(user=NOBODY)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def token_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(TOKEN)
    return str(path)


@pytest.fixture(scope="module")
def url(token_file):
    with Cluster(PROGRAM, status_pages=True, flags=["--token_file", token_file], worker=1) as cluster:
        yield cluster.status_url("worker")


def open_page(browser, url):
    page = devtools.Page(browser)
    page.call("Network.clearBrowserCookies")
    page.open(url)
    return page


def enter(page, token):
    page.until("document.getElementById('token') !== null")
    page.run(f"document.getElementById('token').value = {token!r}; document.getElementById('login').requestSubmit()")


def test_the_token_opens_the_page_and_is_not_sent(stranger, url):
    page = open_page(stranger, url)
    enter(page, "wrong" + TOKEN)
    page.until("document.querySelector('#login .note').textContent.includes('not the token')")
    assert not page.run("document.body.dataset.ready")
    enter(page, TOKEN)
    page.until("document.body.dataset.ready === 'yes'")
    assert page.run("document.getElementById('login') === null") and page.run("document.cookie") == ""
    sent = [event for event in stranger.events if event.get("method", "").startswith("Network.request")]
    assert sent and not any(TOKEN in str(event) for event in sent)
    page.open(url)  # the cookie keeps the browser logged in
    page.until("document.body.dataset.ready === 'yes'")


def test_an_address_with_the_token_logs_in_by_itself(stranger, url):
    page = open_page(stranger, url + "#token=" + TOKEN)
    page.until("document.body.dataset.ready === 'yes'")


def test_an_observer_sees_the_page(stranger, url, token_file):
    done = subprocess.run([PROGRAM, "token", "--role", "observer", "--token_file", token_file], capture_output=True, text=True, check=True)
    page = open_page(stranger, url)
    enter(page, done.stdout.strip())
    page.until("document.body.dataset.ready === 'yes'")
    assert not page.run("store.token")
