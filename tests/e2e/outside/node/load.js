// A load on a cluster by a client library for Node.js, until told to stop. Speaks as load.py does and does the same, with one long-lived client.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const SHOWN = 20;
const PATIENCE = 5000; // milliseconds for a request
const LAST_ROUND = 30_000; // milliseconds
const SORRY = 20; // milliseconds

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const settings = JSON.parse((await input.next()).value);
const library = await import(`./libraries/${settings.library}.js`);
const report = { requests: 0, failures: 0, complaints: [], lost: [], worst_gap: 0, clients: 0, writes: 0, reads: 0, recovered: null, keys: 0 };
const mayBe = new Map(); // for each key the values that it may have: one, unless a write of it failed
let client;
let lastSuccess;
let stopping = false;

// Whether the request succeeded, and its answer; a failure is counted as an application would see it.
async function attempt(what, request) {
  report.requests++;
  const late = new AbortController();
  try {
    const answer = await Promise.race([
      request(),
      sleep(PATIENCE, undefined, { signal: late.signal, ref: false }).then(() => Promise.reject(new Error("no answer in time"))),
    ]);
    return [true, answer];
  } catch (error) {
    report.failures++;
    if (report.complaints.length < SHOWN) report.complaints.push(`${Date.now() / 1000} ${what}: ${error?.message ?? error}`);
    await sleep(SORRY);
    return [false, undefined];
  } finally {
    late.abort();
  }
}

async function read(key) {
  const [done, value] = await attempt(`get ${key}`, () => client.get(key));
  if (!done) return false;
  report.reads++;
  if (!mayBe.get(key).includes(value ?? null)) report.lost.push(`${key}: ${value} instead of ${mayBe.get(key)}`);
  return true;
}

async function step(number) {
  const key = `${settings.prefix}:steady:${number % settings.keys}`;
  const value = String(number);
  if (!mayBe.has(key)) mayBe.set(key, [null]);
  mayBe.get(key).push(value);
  const [written] = await attempt(`set ${key}`, () => client.set(key, value));
  if (written) {
    report.writes++;
    mayBe.set(key, [value]);
  }
  const keys = [...mayBe.keys()];
  const done = (await read(Math.random() < 0.5 ? keys[Math.floor(Math.random() * keys.length)] : key)) && written;
  if (done) {
    noteGap();
    lastSuccess = performance.now();
  }
  await sleep(settings.pause * 1000);
  return done;
}

function noteGap() {
  if (lastSuccess !== undefined) report.worst_gap = Math.max(report.worst_gap, (performance.now() - lastSuccess) / 1000);
}

// Whether every key was written and read in a row.
async function lastRound() {
  const deadline = performance.now() + LAST_ROUND;
  let inARow = 0;
  while (inARow < settings.keys && performance.now() < deadline) inARow = (await step(inARow)) ? inARow + 1 : 0;
  return inARow === settings.keys;
}

async function work() {
  let inARow = 0;
  let works = false;
  for (let number = 0; !stopping; number++) {
    if (!client) {
      [, client] = await attempt("connect", () => library.connect(settings.seeds, settings.username, settings.password, settings.trust));
      if (!client) continue;
    }
    inARow = (await step(number)) ? inARow + 1 : 0;
    if (inARow === settings.warm && !works) {
      works = true;
      console.log("working");
    }
  }
  if (!client) return;
  if (settings.last_round) report.recovered = await lastRound();
  noteGap();
  for (const key of mayBe.keys()) await read(key); // every key has its value in the end
}

async function listen() {
  while (!(await input.next()).done) {
    report.worst_gap = 0;
    lastSuccess = performance.now();
  }
  stopping = true;
}

await Promise.all([work(), listen()]);
report.keys = mayBe.size;
report.version = JSON.parse(readFileSync(new URL(`./node_modules/${library.name}/package.json`, import.meta.url))).version;
console.log(JSON.stringify(report));
process.exit(0); // whatever a client still has open
