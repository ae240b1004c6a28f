// SPDX-License-Identifier: Apache-2.0
// Where the job has a token, the page asks for it and proves to the server that it knows it (docs/formats/trust.md); the token itself is
// not sent.

const kRoles = {observer: 1, client: 2, task: 3};
const bytesOf = (string) => new TextEncoder().encode(string);
const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (digits) => new Uint8Array((digits.match(/../g) || []).map((pair) => parseInt(pair, 16)));
const withLength = (bytes) => joined(new Uint8Array([bytes.length & 255, bytes.length >> 8]), bytes);

// [the role, its key]: from a role's token, or from the job token.
function credential(token) {
  const match = /^(observer|client|task)-([0-9a-f]{64})$/i.exec(token);
  if (match) return [kRoles[match[1].toLowerCase()], fromHex(match[2])];
  return [kRoles.client, hmac(bytesOf(token), bytesOf("millstream role client"))];
}

async function post(path, body) {
  const response = await fetch(path, {method: "POST", body, cache: "no-store"});
  const answer = await response.text();
  if (!response.ok) throw new Refused(answer.trim());
  return JSON.parse(answer);
}

async function logIn(token) {
  const [role, key] = credential(token);
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const names = ["status page", location.host, ""].map((name) => withLength(bytesOf(name)));
  const hello = joined(new Uint8Array([1, role]), nonce, ...names);
  const {id, challenge} = await post("trust/challenge", hexOf(hello));
  const said = fromHex(challenge), begun = said.slice(0, -32);
  const prove = (label) => hmac(key, joined(...[bytesOf(label), bytesOf("status"), hello, begun].map(withLength)));
  if (hexOf(prove("millstream server proof")) !== hexOf(said.slice(-32))) throw new Refused("That is not the token of this job.");
  await post("trust/prove?id=" + encodeURIComponent(id), hexOf(prove("millstream client proof")));
}

const login = {waiting: null};

// Resolves once somebody has logged in.
function askForToken() {
  if (login.waiting) return login.waiting;
  login.waiting = new Promise((resolve) => {
    const note = h("p", {class: "note", role: "status"}), field = h("input", {type: "password", id: "token", autocomplete: "current-password", required: true});
    const form = h("form", {class: "card login", id: "login"}, h("h2", {}, "This job has a token"),
      h("p", {}, "Enter the job token, or the token of a role that you were given. It stays in this browser: the page only proves that it knows it."),
      h("label", {}, "Token ", field), h("button", {type: "submit"}, "Log in"), note);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      note.textContent = "";
      try {
        await logIn(field.value.trim());
        form.remove();
        document.querySelector("main").classList.remove("locked");
        login.waiting = null;
        resolve();
      } catch (error) {
        note.textContent = reason(error);
        field.select();
      }
    });
    document.querySelector("main").classList.add("locked");
    document.querySelector("main").prepend(form);
    field.focus();
  });
  return login.waiting;
}
