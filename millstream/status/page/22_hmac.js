// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and HMAC (RFC 2104): browsers have their own only for pages that come over HTTPS or from localhost.

const kRoundConstants = (() => {
  // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  const found = [];
  for (let n = 2; found.length < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) found.push(fraction(n, 3));
  }
  return found;
})();

// The first 32 bits of the fractional part of the k-th root of n, exactly.
function fraction(n, k) {
  const target = BigInt(n) << BigInt(32 * k);
  let low = 0n, high = BigInt(n) << 32n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(k) <= target) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}
const kFirstState = [2, 3, 5, 7, 11, 13, 17, 19].map((n) => fraction(n, 2));

const rotate = (x, n) => (x >>> n) | (x << (32 - n));

function compress(state, view, at) {
  const w = new Uint32Array(64);
  for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  let [a, b, c, d, e, f, g, h8] = state;
  for (let i = 0; i < 64; i++) {
    const t1 = (h8 + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i]) | 0;
    const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h8, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h8].forEach((word, i) => { state[i] = (state[i] + word) | 0; });
}

function sha256(bytes) {
  const padded = new Uint8Array((bytes.length + 72) & ~63);  // 1 bit, zeros, 8 bytes of length
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer), state = [...kFirstState];
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(padded.length - 4, bytes.length << 3);
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  const digest = new Uint8Array(32), out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setInt32(4 * i, word | 0));
  return digest;
}

const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
};

function hmac(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(joined(block.map((byte) => byte ^ 0x36), message));
  return sha256(joined(block.map((byte) => byte ^ 0x5c), inner));
}
