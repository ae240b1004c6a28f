# SPDX-License-Identifier: Apache-2.0
"""The page before data that no cluster gives at will."""
import itertools
import json
import re

import made_up_status as made_up
import pytest

TILES = "Object.fromEntries([...document.querySelectorAll('.tile')].map((t) => [t.querySelector('span').textContent, t.querySelector('b').textContent]))"


def no_complaints(page):
    assert page.complaints() == []
    assert len(page.hosts()) == 1


def two_workers():
    return made_up.cluster(1, 2)


@pytest.mark.parametrize("width, phone", [(1200, False), (390, True)], ids=["desktop", "phone"])
@pytest.mark.parametrize("ps, workers", [(0, 1), (3, 15), (8, 56)])
def test_any_number_of_tasks(make_up, ps, workers, width, phone):
    page, _ = make_up(made_up.cluster(ps, workers), width=width, phone=phone)
    total = ps + workers
    assert page.run(TILES)["tasks up"] == f"{total} of {total}"
    assert len(page.texts("#map g")) == total and len(page.texts("#tasks tbody tr")) == total
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("document.querySelectorAll('*').length") < 4000
    no_complaints(page)


def test_the_map_has_no_empty_space_around_it(make_up):
    """Boxes reach the edges of the drawing; with few tasks the numbers stand beside it."""
    for ps, workers in ((1, 1), (1, 2), (2, 3), (3, 15), (8, 56)):
        page, _ = make_up(made_up.cluster(ps, workers))
        gaps = page.run("""(() => {
            const card = document.querySelector('.map').getBoundingClientRect(), tiles = document.getElementById('tiles').getBoundingClientRect();
            const boxes = [...document.querySelectorAll('#map g')].map((g) => g.getBoundingClientRect());
            const inner = {left: Math.min(...boxes.map((b) => b.left)), right: Math.max(...boxes.map((b) => b.right)),
                           bottom: Math.max(...boxes.map((b) => b.bottom))};
            const beside = tiles.top < card.bottom && tiles.left >= card.right;
            return {left: inner.left - card.left, right: card.right - inner.right, bottom: card.bottom - inner.bottom,
                    beside, under: Math.abs(tiles.bottom - card.bottom)}; })()""")
        assert gaps["left"] <= 40 and gaps["right"] <= 40 and gaps["bottom"] <= 60, (workers, gaps)
        assert gaps["beside"] == (ps + workers <= 5), (workers, gaps)
        if gaps["beside"]:
            assert gaps["under"] <= 2, gaps


def test_the_phone_page_is_short(make_up):
    """It was 3,705 pixels high with 3 tasks and 8,779 with 18."""
    for workers, limit in ((2, 2000), (17, 2900)):
        page, _ = make_up(made_up.cluster(1, workers), width=390, height=800, phone=True)
        assert page.run("document.documentElement.scrollHeight") < limit
        # What is closed can be opened, and draws itself then.
        page.run("document.querySelector('#rates summary').click()")
        page.until("document.querySelectorAll('#rates svg.plot').length === 3")
        # All columns are a tap away.
        visible = "[...document.querySelectorAll('#tasks th')].filter((t) => t.offsetWidth > 0).length"
        assert page.run(visible) == 5
        page.run("document.querySelector('#tasks .all-columns').click()")
        assert page.run(visible) == 12 and page.run("document.documentElement.scrollWidth") <= 390


def test_the_end_of_the_job(make_up):
    page, server = make_up(two_workers())
    assert page.texts("#live") == ["live"]
    last = made_up.task("ps", 0, "done", global_step=1234)
    server.end(made_up.status([last], ended=True, time=made_up.NOW + 5))
    page.until("document.getElementById('live').textContent === 'ended'")
    server.stop()
    assert not page.run("document.getElementById('live').classList.contains('on')")
    assert "job ended" in page.texts("#notice")[0] and page.run(TILES)["global step"] == "1,234"
    # The others are shown as they were last seen, and nobody is green.
    assert len(page.texts("#map g")) == 3 and page.run("document.querySelectorAll('.up').length") == 0
    assert all("ended" in row for row in page.texts("#tasks tbody tr"))
    assert page.run("document.title").startswith("Ended")
    # It stays so, though nobody answers now.
    page.run("refresh()")
    page.run("showState()")
    assert page.texts("#live") == ["ended"] and "fetch" not in page.run("document.body.innerText").lower()


def test_a_server_that_outlives_its_job(make_up):
    """A ps may stay for some seconds to tell those who come late."""
    page, server = make_up(two_workers())
    server.status = made_up.status([made_up.task("ps", 0, "done"), made_up.task("worker", 0, "down", error="refused"), made_up.task("worker", 1, "up")])
    page.until("document.getElementById('live').textContent === 'ended'")
    assert page.run("document.querySelectorAll('.up, .down').length") == 0 and all("ended" in row for row in page.texts("#tasks tbody tr"))
    assert "95.5" in page.texts("#tasks tbody tr")[1]  # as it was when it last answered
    # Another job at the same address begins anew.
    server.status = made_up.status([made_up.task("ps", 0)])
    page.run("refresh()")
    page.run("showState()")
    assert page.texts("#live") == ["live"] and page.run("store.curves.size") == 0


def test_a_server_that_dies(make_up):
    page, server = make_up(two_workers())
    server.stop()
    page.until("document.getElementById('live').textContent.startsWith('no answer for')")
    notice = page.texts("#notice")[0]
    assert "does not answer" in notice and "This is the state of" in notice and "fetch" not in notice.lower()
    assert page.run("document.querySelectorAll('.up').length") == 0 and page.run(TILES)["tasks up"] == "0 of 3"


def test_a_dead_task_a_missing_task_and_no_training(make_up):
    tasks = [made_up.task("ps", 0), made_up.task("worker", 0, "down", error="Connection refused"),
             made_up.task("worker", 1, "missing", error="no answer")]
    page, _ = make_up(made_up.status(tasks))
    rows = page.texts("#tasks tbody tr")
    assert "down for" in rows[1] and "Connection refused" in rows[1] and "not seen" in rows[2]
    assert page.run("document.querySelectorAll('#map .down').length") == 1 and page.run("document.querySelectorAll('#map .missing').length") == 1
    assert page.run("document.getElementById('curve-tools').hidden") and page.texts("#curves .card") == []
    assert page.run("document.getElementById('queues-card').hidden")
    no_complaints(page)


def test_everybody_is_gone(make_up):
    page, _ = make_up(made_up.status([made_up.task("worker", 0, "missing")]))
    assert page.run(TILES)["tasks up"] == "0 of 1" and "Infinity" not in page.run("document.body.innerText")
    empty, _ = make_up(made_up.status([]))
    assert "no tasks" in empty.run("document.body.innerText")
    no_complaints(page)
    no_complaints(empty)


def test_losses_that_are_not_finite(make_up):
    status = two_workers()
    status["tasks"][1]["scalars"] = [made_up.scalar("loss:0", [2.0, 1.5, None, 1.2, None]), made_up.scalar("only_nan:0", [None, None])]
    status["tasks"][2]["scalars"] = []
    page, _ = make_up(status)
    assert page.run(TILES)["loss, training batches"] == "not finite"
    assert page.run("document.querySelectorAll('#curves .card:first-child .not-finite').length") == 2
    path = page.run("document.querySelector('#curves .series').getAttribute('d')")
    assert path.count("M") == 2 and "NaN" not in page.run("document.getElementById('curves').innerHTML")
    page.run("document.getElementById('log-scale').click()")
    no_complaints(page)


def test_steps_without_a_loss(make_up):
    status = two_workers()
    for task in status["tasks"]:
        task["scalars"] = []
    page, _ = make_up(status)
    tiles = page.run(TILES)
    assert tiles["global step"] == "1,000" and not any("loss" in name for name in tiles)
    assert len(page.texts("#steps-chart .series")) == 3


def curve(page, title):
    """[what it says of itself, names of its lines, text of its axis]"""
    return page.run(f"""(() => {{ const card = [...document.querySelectorAll('#curves .card')].find((c) => c.querySelector('h3').textContent === {title!r});
        return [card.querySelector('.of').textContent, [...card.querySelectorAll('.legend span')].map((s) => s.textContent),
                [...card.querySelectorAll('svg text')].map((t) => t.textContent)]; }})()""")


def evaluated():
    status = two_workers()
    evaluation = made_up.scalar("accuracy", [0.5, 0.7, 0.8], "evaluation", first_step=200, run="eval")
    status["tasks"][1]["scalars"] += [evaluation, made_up.scalar("accuracy:0", [0.1, 0.2], "read"), made_up.scalar("rate", [1, 1], "summary")]
    return status


def test_evaluations_are_curves_beside_those_of_training_batches(make_up):
    page, _ = make_up(evaluated())
    of, names, _ = curve(page, "accuracy")
    assert "training batches and evaluation" in of
    assert names == ["worker 0, training batches", "worker 1, training batches", "worker 0, evaluation (eval)"]  # not the batches of the evaluation
    assert len(page.texts("#curves .series.marked")) == 1
    tiles = page.run(TILES)
    assert tiles["accuracy, evaluation"] == "0.800" and float(tiles["accuracy, training batches"]) > 0.9
    assert curve(page, "loss")[0].startswith("of training batches") and curve(page, "rate")[0].startswith("of summary ops")
    no_complaints(page)


def test_steps_or_time(make_up):
    page, _ = make_up(evaluated())
    assert "over steps" in curve(page, "loss")[0] and {"200", "400", "600"} <= set(curve(page, "loss")[2])
    page.run("document.getElementById('axis-time').click()")
    assert "over time" in curve(page, "loss")[0] and any(re.fullmatch(r"\d\d:\d\d:\d\d", t) for t in curve(page, "loss")[2])
    assert page.run("document.getElementById('axis-time').getAttribute('aria-pressed')") == "true"
    # The choice is remembered.
    page.reload()
    page.until("document.body.dataset.ready === 'yes' && document.querySelectorAll('#curves .card').length > 0")
    assert "over time" in curve(page, "loss")[0]
    page.run("localStorage.clear()")


def test_steps_that_a_task_does_not_know(make_up):
    status = two_workers()
    status["tasks"][1]["scalars"] = [made_up.scalar("loss:0", [3.0, 2.0, 1.0], first_step=None)]
    status["tasks"][2]["scalars"] = []
    page, _ = make_up(status)  # the ps knows them: 100 a second, 3,000 now
    assert page.run("[...store.curves.get('loss').values()][0].points.map((p) => p[1])") == [2700, 2800, 2900]
    for task in status["tasks"]:
        task["owns_global_step"] = False
    page, _ = make_up(status)
    assert "over time: its steps are not known" in curve(page, "loss")[0]


def set_range(page, value):
    page.run(f"(() => {{ const s = document.getElementById('smoothing'); s.value = {value}; s.dispatchEvent(new Event('input')); }})()")


def test_smoothing_and_log_scale(make_up):
    status = two_workers()
    status["tasks"][1]["scalars"] = [made_up.scalar("loss:0", [100.0, 1.0] * 30 + [0.0])]
    status["tasks"][2]["scalars"] = []
    page, _ = make_up(status)

    def heights(kind):
        path = page.run(f"document.querySelector('#curves .series{kind}').getAttribute('d')")
        return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]

    raw = heights("")
    set_range(page, 0.9)
    smooth = heights(":not(.raw)")
    assert heights(".raw") == raw  # still there, behind
    wild = [sum(abs(a - b) for a, b in itertools.pairwise(line)) for line in (raw, smooth)]
    assert wild[1] < wild[0] / 5
    assert page.texts("#smoothing-value") == ["0.90"]
    set_range(page, 0)
    page.run("document.getElementById('log-scale').click()")
    note, _, axis = curve(page, "loss")
    assert "1 value of 0 or less not shown" in note and {"1", "10", "100"} <= set(axis)
    assert page.run("localStorage.getItem('log')") == "yes"
    page.run("localStorage.clear()")
    no_complaints(page)


def test_column_heads_explain_themselves(make_up):
    page, _ = make_up(two_workers())
    heads = page.run("[...document.querySelectorAll('thead th')].map((t) => [t.textContent, t.firstElementChild && t.firstElementChild.dataset.tip])")
    assert all(tip and tip.endswith(".") for name, tip in heads if name not in ("task", "link")) and len(heads) > 15
    page.run("document.querySelector('#tasks th:nth-child(6) span').focus()")
    page.press("Tab")
    page.until("!document.getElementById('tip').hidden")
    assert "updates other workers make" in page.texts("#tip")[0]
    assert page.run("document.activeElement.getAttribute('aria-describedby')") == "tip"
    # New data leaves the focus where it is.
    page.run("refresh()")
    assert page.run("document.activeElement.textContent") == "staleness"
    page.press("Escape")
    assert page.run("document.getElementById('tip').hidden")


def test_light_and_dark_follow_the_system(make_up):
    page, _ = make_up(two_workers())
    theme = "document.documentElement.dataset.theme"
    assert page.run(theme) == "light"
    page.prefer("dark")
    page.until(theme + " === 'dark'")
    page.prefer("light")
    page.until(theme + " === 'light'")
    # A choice of one's own stays, whatever the system does; the third click goes back to the system.
    for expected in ("light", "dark"):
        page.run("document.getElementById('theme').click()")
        assert page.run(theme) == expected and page.run("localStorage.getItem('theme')") == expected
    page.prefer("dark")
    page.prefer("light")
    assert page.run(theme) == "dark"
    page.run("document.getElementById('theme').click()")
    assert page.run(theme) == "light" and page.run("localStorage.getItem('theme')") is None


def test_helper_nodes_are_folded_away(make_up):
    page, _ = make_up(two_workers(), graph=made_up.training_graph())
    page.run("document.getElementById('graph-load').click()")
    page.until("document.querySelectorAll('#graph .box').length")
    keys = "[...document.querySelectorAll('#graph .box')].map((b) => b.dataset.key)"
    assert set(page.run(keys)) == {"images", "labels", "hidden", "logits", "xent", "loss", "gradients", "GradientDescent"}
    assert "25 nodes of 56" in page.texts("#graph-note")[0]
    buttons = page.texts("#graph-folded button")
    assert [re.sub(r" \(\d+\)", "", b) for b in buttons] == ["Show saving", "Show initialization", "Show reports", "Show gradient bookkeeping"]
    # What flows through folded nodes still joins those that are shown.
    edges = "[...makeBoxes().boxes].flatMap((a) => [...a.out.keys()].map((b) => a.key + '>' + b.key))"
    assert {"loss>gradients", "gradients>GradientDescent"} <= set(page.run(edges))
    page.run("document.querySelector('#graph-folded button').click()")
    assert "save" in page.run(keys) and page.texts("#graph-folded button")[0].startswith("Hide saving")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.run("document.querySelector('#graph-folded button').click()")
    assert "save" not in page.run(keys)
    no_complaints(page)


def test_the_keyboard(make_up):
    page, _ = make_up(two_workers(), graph=made_up.training_graph())
    # Charts read their values out.
    page.run("document.querySelector('#curves svg').focus()")
    page.press("ArrowLeft", 37)
    tip = page.texts("#tip")[0]
    assert tip.startswith("step ") and "worker 0: " in tip
    page.press("Home", 36)
    assert page.texts("#tip")[0].startswith("step 10,")
    # Boxes of the graph open and close.
    page.run("document.getElementById('graph-load').focus()")
    page.press("Enter")
    page.until("document.querySelectorAll('#graph .box').length")
    page.run("document.querySelector('#graph .box[data-key=hidden]').focus()")
    page.press("Enter")
    assert page.run("document.activeElement.dataset.key").startswith("hidden/")
    page.press("Enter")
    assert page.run("document.activeElement.dataset.key") == "hidden"
    unnamed = page.run("""[...document.querySelectorAll('button, select, input, a, svg[tabindex], [role=button]')].filter((e) =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).length""")
    assert unnamed == 0
    no_complaints(page)


def luminance(colour):
    parts = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(make_up, dark):
    """Text has the 4.5:1 of WCAG AA, signs have 3:1."""
    page, _ = make_up(two_workers(), dark=dark)
    names = ["ground", "card", "ink", "soft", "accent", "good", "warn", "bad", "idle", "rail", *(f"c{i}" for i in range(8))]
    found = page.run(f"""(() => {{ const e = document.body.appendChild(document.createElement('i')), colours = {{}};
        for (const name of {json.dumps(names)}) {{ e.style.color = `var(--${{name}})`; colours[name] = getComputedStyle(e).color; }}
        e.remove(); return colours; }})()""")

    def contrast(a, b):
        low, high = sorted((luminance(found[a] if a in found else a), luminance(found[b] if b in found else b)))
        return (high + 0.05) / (low + 0.05)

    for text in ("ink", "soft", "accent", "bad"):
        for ground in ("card", "ground"):
            assert contrast(text, ground) >= 4.5, (text, ground)
    assert contrast("ink", "rail") >= 4.5 and contrast("accent", "card") >= 4.5
    box_text = "rgb(15, 20, 26)" if dark else "rgb(255, 255, 255)"
    for i in range(8):
        assert contrast(f"c{i}", box_text) >= 4.5, i
        assert contrast(f"c{i}", "card") >= 3, i
    for sign in ("good", "warn", "bad", "idle"):
        assert contrast(sign, "card") >= 3, sign


HOSTILE = "<img src=x onerror=\"document.title='stolen'\">&amp;'\"</script><b>"


def test_names_from_strangers_are_text(make_up):
    status = two_workers()
    worker = status["tasks"][1]
    worker["scalars"] = [made_up.scalar(HOSTILE, [1.0, 2.0], "evaluation", run=HOSTILE)]
    worker["queues"] = [{"name": HOSTILE, "size": 1, "capacity": 2, "waiting_to_enqueue": 0, "waiting_to_dequeue": 0, "closed": False}]
    worker["accumulators"] = [{"name": HOSTILE, "applied": 1, "dropped": 0, "pending": 0, "mean_steps_late": 0}]
    worker["staleness_clocks"] = [{"name": HOSTILE, "bound": 2, "workers": 2, "slowest_step": 7, "waiting": 1, "staleness": [3, HOSTILE, 1]}]
    worker["errors"] = [{"time": made_up.NOW, "where": HOSTILE, "code": HOSTILE, "message": HOSTILE, "count": 1}]
    worker["links"][0]["transport"] = HOSTILE
    worker["address"] = worker["job"] = HOSTILE
    graph = made_up.training_graph()
    graph["nodes"][0][0] = graph["ops"][0] = graph["devices"][0] = HOSTILE
    page, _ = make_up(status, graph=graph)
    page.run("document.getElementById('graph-load').click()")
    page.until("document.querySelectorAll('#graph .box').length")
    page.run("[...document.querySelectorAll('[data-tip]')].forEach((e) => e.dispatchEvent(new PointerEvent('pointermove', {bubbles: true})))")
    assert page.run("document.querySelectorAll('img').length") == 0 and "stolen" not in page.run("document.title")
    assert HOSTILE in page.texts("#curves h3") and HOSTILE in page.texts("#errors p")[0] and HOSTILE in page.texts("#queues td")[0]
    no_complaints(page)


def test_answers_of_other_versions(make_up):
    """What a task leaves out or writes differently does not break the page for the others."""
    status = two_workers()
    keep = ("task", "job", "index", "address", "health", "health_since", "error", "restarts")
    status["tasks"][1] = {k: v for k, v in status["tasks"][1].items() if k in keep}
    status["tasks"][2] |= {"steps": "many", "links": 7, "queues": [None, 3], "errors": {"a": 1}, "scalars": [{"name": 5, "points": "x"}, 1, None],
                           "history": [1, None, [2]], "memory": None, "accumulators": [[]], "staleness_clocks": [7, {"staleness": "x"}]}
    page, _ = make_up(status)
    assert len(page.texts("#tasks tbody tr")) == 3 and page.run(TILES)["tasks up"] == "3 of 3"
    no_complaints(page)


def test_history_and_elements_are_bounded(make_up):
    status = made_up.cluster(1, 8)
    for worker in status["tasks"][1:]:
        worker["scalars"] = [made_up.scalar(f"s{i}", [float(j) for j in range(500)]) for i in range(64)]
    page, server = make_up(status)
    for _ in range(3):
        for worker in status["tasks"][1:]:
            for scalar in worker["scalars"]:
                scalar["points"] = [[p[0] + 500, p[1] + 5000, p[2]] for p in scalar["points"]]
        server.status = json.loads(json.dumps(status))
        page.run("refresh()")
    assert page.run("[...store.curves.values()].reduce((n, c) => n + [...c.values()].reduce((m, l) => m + l.points.length, 0), 0)") <= 160000
    page.run("document.getElementById('curves-more').click()")
    assert len(page.texts("#curves .card")) == 32
    assert page.run("document.querySelectorAll('*').length") < 6000
    no_complaints(page)
