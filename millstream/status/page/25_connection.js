// SPDX-License-Identifier: Apache-2.0
// Asking the server. It holds each request for status until it is time for the next, and answers at once when it stops: so the page
// hears that the job has ended.

const kPeriod = 2, kHiddenPeriod = 20, kEndedPeriod = 10;  // seconds between answers
const connection = {
  paused: false, problem: "", abort: null, locked: false,
  last: 0,  // when the last answer came, in milliseconds
  lost: () => connection.problem !== "" && Date.now() - connection.last > 4000,
};

// Of an address that ends in #token=...: what follows the # stays in the browser.
const tokenInAddress = (() => {
  const match = /[#&]token=([^&]+)/.exec(location.hash);
  return match ? decodeURIComponent(match[1]) : "";
})();

// A refusal of the server, in its own words. Everything else that goes wrong means that there was no answer.
class Refused extends Error {}
class Locked extends Refused {}  // until somebody logs in

async function call(path, options) {
  const response = await fetch(path, Object.assign({}, options, {cache: "no-store"}));
  const body = await response.text();
  if (response.ok) return JSON.parse(body);
  if (response.status === 401) throw new Locked(body.trim());
  let why = body.trim();
  try { why = JSON.parse(body).error || why; } catch (e) { /* not JSON: a line of text */ }
  throw new Refused(why || "The server answers with HTTP code " + response.status + ".");
}

// For buttons: why something failed, without the browser's own words for it.
const reason = (error) => (error instanceof Refused ? error.message : "The server does not answer.");

async function refresh() {
  const wait = !store.status || connection.problem || store.ended ? 0 : document.hidden ? kHiddenPeriod : kPeriod;
  connection.abort = new AbortController();
  const timer = setTimeout(() => connection.abort.abort(), 1000 * wait + 15000);
  let answer = null;
  try {
    answer = await call(`status.json?since=${store.since}&wait=${wait}`, {signal: connection.abort.signal});
  } catch (error) {
    if (error instanceof Locked) connection.locked = true;
    else if (!connection.wake) connection.problem = reason(error);
  }
  clearTimeout(timer);
  if (answer) {
    connection.last = Date.now();
    connection.problem = "";
    accept(answer);
  }
  const lost = connection.lost();
  if (answer || (store.status && lost !== connection.drawnLost)) render();
  connection.drawnLost = lost;
}

// The token in the address is tried once.
async function unlock() {
  const token = login.tried ? "" : tokenInAddress;
  login.tried = true;
  if (token) {
    try { await logIn(token); } catch (error) { console.info(reason(error)); await askForToken(); }
  } else {
    await askForToken();
  }
  connection.locked = false;
  connection.wake = true;  // ask at once
}

const selecting = () => String(getSelection()).length > 0;

async function loop() {
  for (;;) {
    connection.wake = false;
    const start = Date.now();
    try {
      if (!connection.paused && !selecting()) await refresh();
      showState();
      if (connection.locked) await unlock();
    } catch (error) {
      console.error(error);  // of the page itself: the next answer may be drawn all the same
    }
    const period = store.ended ? kEndedPeriod : kPeriod;
    const rest = connection.wake ? 0 : Math.max(50, 1000 * period - (Date.now() - start));
    await new Promise((resolve) => { connection.proceed = resolve; setTimeout(resolve, rest); });
  }
}

// Somebody looks again: do not wait for the answer to the slow request of a hidden page.
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !store.status || store.ended) return;
  connection.wake = true;
  if (connection.abort) connection.abort.abort();
  if (connection.proceed) connection.proceed();
});

// [what the light in the corner says, its class, the sentence below it]
function stateNow() {
  if (store.ended) return ["ended", "ended", `The job ended at ${clock(store.status.time)}. This is its last state.`];
  if (connection.locked) return ["locked", "", ""];
  if (connection.paused) return ["paused", "", ""];
  if (connection.last === 0) return connection.problem ? ["no answer", "off", connection.problem] : ["connecting", "", ""];
  if (!connection.lost()) return ["live", "on", ""];
  return [`no answer for ${seconds((Date.now() - connection.last) / 1000)}`, "off",
    `${connection.problem} The task may have stopped or died, or the network is down. This is the state of ${clock(connection.last / 1000)}.`];
}

function showState() {
  const [word, kind, sentence] = stateNow(), notice = $("notice");
  $("live").textContent = word;
  $("live").className = "live " + kind;
  if (notice.textContent !== sentence) notice.textContent = sentence;  // read aloud when it changes
  notice.hidden = sentence === "";
  notice.className = "notice " + kind;
  $("pause").hidden = store.ended;
}
