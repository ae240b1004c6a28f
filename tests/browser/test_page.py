# SPDX-License-Identifier: Apache-2.0
"""The status page as people see it. MILLSTREAM_SCREENSHOTS names a folder to leave pictures in (docs/images has some of them)."""
import os
import re

import pytest

from devtools import Page

READY = "document.body.dataset.ready === 'yes'"


def picture(page, name, clip=None):
    folder = os.environ.get("MILLSTREAM_SCREENSHOTS")
    if folder:
        page.screenshot(os.path.join(folder, name + ".png"), clip)


def open_page(browser, training, **kwargs):
    page = Page(browser, **kwargs)
    page.open(training.cluster.status_url("ps"))
    page.until(READY)
    page.until("store.curves.has('loss') && [...store.curves.get('loss').values()].every((line) => line.points.length > 8)")
    page.until("document.querySelectorAll('#curves .series').length >= 4")
    return page


def no_complaints(page):
    assert page.complaints() == []
    assert len(page.hosts()) == 1  # nothing comes from elsewhere


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_desktop(browser, training, dark):
    page = open_page(browser, training, dark=dark, height=1000)
    assert page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", ground))) > 384
    assert light != dark
    tiles = dict(zip(page.texts(".tile span"), page.texts(".tile b")))
    assert tiles["tasks up"] == "3 of 4" and int(tiles["global step"].replace(",", "")) > 0
    assert float(tiles["loss, training batches"]) > 0 and 0 <= float(tiles["accuracy, training batches"]) <= 1
    assert "of training batches, over steps" in page.texts("#curves .of")
    assert len(page.texts("#map g")) == 4 and page.run("document.querySelectorAll('#map path.moving').length") >= 2
    rows = page.texts("#tasks tbody tr")
    assert sum("not seen" in row for row in rows) == 1 and sum("worker" in row and "up" in row for row in rows) == 2
    assert any("hidden/kernel" in row for row in page.texts("#gradients tbody tr"))
    assert any("batches" in row for row in page.texts("#queues tbody tr"))
    assert any("ps 0" in row and "shm" in row for row in page.texts("#links tbody tr"))
    assert page.texts("#errors") == ["None."]
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    picture(page, "status-dark" if dark else "status-light", {"x": 0, "y": 0, "width": 1200, "height": 1000})
    no_complaints(page)


def test_graph_and_timeline(browser, training):
    page = open_page(browser, training)
    page.run("document.getElementById('graph-load').click()")
    boxes = page.until("document.querySelectorAll('#graph .box').length")
    assert any(b.startswith("Show initialization") for b in page.texts("#graph-folded button")) and not any("/Assign" in b for b in page.texts("#graph .box"))
    assert {"ps 0 CPU:0", "worker 0 CPU:0"} <= {t.split(":")[0] + ":0" for t in page.texts("#graph-legend span") if "nodes" in t}
    page.run("[...document.querySelectorAll('#graph .box')].find((b) => b.textContent.startsWith('hidden')).dispatchEvent(new Event('click'))")
    assert page.run("document.querySelectorAll('#graph .box').length") > boxes
    page.run("document.getElementById('trace-start').click()")
    page.until("document.querySelectorAll('#trace .event').length > 20")
    assert "nodes in" in page.texts("#trace-note")[0] and len(page.texts("#trace tbody tr")) >= 3
    assert page.run("document.getElementById('trace-save').href.startsWith('blob:')")
    # Pausing stops asking; the theme can be chosen.
    page.run("document.getElementById('pause').click(); for (let i = 0; i < 2; i++) document.getElementById('theme').click()")
    assert page.texts("#live") == ["paused"] and page.run("document.documentElement.dataset.theme") == "dark"
    page.run("document.getElementById('theme').click()")
    at = page.run("(() => { const r = document.getElementById('graph').closest('details').getBoundingClientRect();"
                  " return {x: 0, y: r.top + scrollY - 12, width: 1200, height: document.querySelector('footer').getBoundingClientRect().top - r.top + 8}; })()")
    picture(page, "status-graph", at)
    no_complaints(page)


@pytest.mark.parametrize("width", [360, 390, 768])
def test_phone(browser, training, width):
    page = open_page(browser, training, width=width, height=800, phone=True)
    page.run("for (const part of document.querySelectorAll('details')) part.open = true")
    page.run("document.getElementById('graph-load').click(); document.getElementById('trace-start').click()")
    page.until("document.querySelectorAll('#graph .box').length && document.querySelectorAll('#trace .event').length")
    # Nothing sticks out to the side, and what can be touched is large enough.
    assert page.run("document.documentElement.scrollWidth") <= width
    wide = page.run("[...document.querySelectorAll('main section, main .card')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length")
    assert wide == 0
    if width < 960:
        heights = page.run("[...document.querySelectorAll('button, select')].map((b) => b.getBoundingClientRect().height).filter((height) => height > 0)")
        assert min(heights) >= 40 and len(heights) > 6
    if width == 390:
        page.run("for (const part of document.querySelectorAll('details')) part.open = false")
        picture(page, "status-phone")
    no_complaints(page)


def test_a_server_that_goes_away_is_noticed(browser, make_local):
    server_url, stop = make_local()
    page = Page(browser)
    page.open(server_url)
    page.until(READY)
    stop()
    page.until("document.getElementById('live').textContent.startsWith('no answer for')")
    assert "does not answer" in page.texts("#notice")[0]


def test_the_end_of_millstream_train(browser, train):
    """The page is open when training ends by itself: it says so, with the last numbers, and complains about nothing."""
    page = Page(browser)
    page.open(train("--train_steps", "20000"))
    page.until(READY)
    page.until("document.getElementById('live').textContent === 'ended'", seconds=300)
    tiles = dict(zip(page.texts(".tile span"), page.texts(".tile b")))
    assert int(tiles["global step"].replace(",", "")) >= 20000 and float(tiles["accuracy, evaluation"]) > 0.8, tiles
    assert "The job ended at" in page.texts("#notice")[0] and page.run("document.querySelectorAll('.up').length") == 0
    assert "Failed to fetch" not in page.run("document.body.innerText")


@pytest.mark.parametrize("width, phone", [(1200, False), (390, True)], ids=["desktop", "phone"])
def test_a_larger_cluster(browser, larger, width, phone):
    page = Page(browser, width=width, height=1000, phone=phone)
    page.open(larger.status_url("worker"))
    page.until(READY)
    page.until("document.querySelectorAll('#map g').length === 18")
    page.until("document.querySelector('.tile b').textContent === '18 of 18'")
    assert len(page.texts("#tasks tbody tr")) == 18
    # Boxes of tasks lie side by side and within the map.
    boxes = page.run("[...document.querySelectorAll('#map g')].map((g) => { const r = g.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })")
    for i, a in enumerate(boxes):
        assert a[0] >= 0 and a[2] <= width, a
        for b in boxes[:i]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)
    assert page.run("document.documentElement.scrollWidth") <= width
    picture(page, "status-larger-phone" if phone else "status-larger", {"x": 0, "y": 0, "width": width, "height": 1000})
    no_complaints(page)


def test_the_page_of_millstream_train(browser, train):
    page = Page(browser, height=1000)
    page.open(train("--train_steps", "1000000", "--eval_steps", "1000"))
    page.until(READY)
    page.until("document.querySelectorAll('#curves .series').length >= 4")
    page.until("Number(document.querySelectorAll('.tile b')[1].textContent.replace(/,/g, '')) > 3000")
    page.until("[...store.curves.get('accuracy').values()].some((line) => line.source === 'evaluation' && line.points.length > 2)")
    page.until("document.querySelectorAll('#curves .series.marked').length >= 2")
    tiles = dict(zip(page.texts(".tile span"), page.texts(".tile b")))
    assert tiles["tasks up"] == "3 of 3" and float(tiles["loss, training batches"]) < 1 and float(tiles["accuracy, evaluation"]) > 0.8, tiles
    assert {"worker 0, training batches", "worker 0, evaluation (eval)"} <= set(page.texts("#curves .legend span"))
    assert page.run("[...document.querySelectorAll('.tile')].filter((t) => t.scrollWidth > t.clientWidth).length") == 0
    low = page.run("Math.max(...[...document.querySelectorAll('#map path')].map((p) => p.getBoundingClientRect().bottom))")
    assert low <= page.run("document.querySelector('#map svg').getBoundingClientRect().bottom")
    assert {"loss", "accuracy"} <= set(page.run("[...store.curves.keys()]"))
    picture(page, "status-demo", {"x": 0, "y": 0, "width": 1200, "height": 860})
    no_complaints(page)
