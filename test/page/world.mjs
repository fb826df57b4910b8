// A real server with simulated models, and a real browser whose network is watched.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';

// Limits a wait. It is long, because machines may be busy; a passing test waits little.
const limit = Number(process.env.PONDER_PATIENCE ?? 120) * 1000;
const bin = resolve(process.env.PONDER_BIN ?? '../../bin');

/** Waits until check returns a value that is not false. Fails with the last error or value. */
export async function until(check, what, patience = limit) {
  const end = Date.now() + patience;
  let last;
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${patience / 1000} s: ${last?.stack ?? last}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Starts a program. Returns it with its first line of output. */
async function launch(name, args, env, dir) {
  const child = spawn(join(bin, name), args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  child.log = '';
  child.stderr.on('data', (text) => (child.log = (child.log + text).slice(-8000)));
  child.ended = new Promise((done) => child.once('exit', done));
  const lines = createInterface(child.stdout);
  const line = await Promise.race([
    new Promise((done) => lines.once('line', done)),
    child.ended.then(() => { throw new Error(`${name} ended: ${child.log}`); }),
  ]);
  return { child, line };
}

async function end(child, signal) {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  await child.ended;
}

/** A server of Ponder with a database of its own. */
export class World {
  /** Options: script (answers of the models), sim (flags), token, config (TOML), env. */
  static async start(options = {}) {
    const world = new World();
    world.options = options;
    world.dir = mkdtempSync(join(tmpdir(), 'ponder-page-'));
    mkdirSync(join(world.dir, 'ponder'));
    writeFileSync(join(world.dir, 'ponder', 'config.toml'), options.config ?? '');
    const flags = ['--token-delay', '2ms', ...(options.sim ?? [])];
    if (options.script) {
      const file = join(world.dir, 'script.jsonl');
      writeFileSync(file, options.script.map((answer) => JSON.stringify(answer) + '\n').join(''));
      flags.push('--script', file);
    }
    const sim = await launch('ponder-sim', flags, { PATH: process.env.PATH }, world.dir);
    world.sim = sim.child;
    world.simURL = /http:\/\/\S+/.exec(sim.line)[0];
    world.env = { PATH: process.env.PATH, ...options.env };
    if (options.models !== false) {
      Object.assign(world.env, { OPENAI_BASE_URL: `${world.simURL}/v1`, OPENAI_API_KEY: 'any', PONDER_MODEL_EMBED: 'openai/embed' });
      for (const role of ['FAST', 'SLOW', 'CHEAP']) world.env[`PONDER_MODEL_${role}`] = `openai/${role.toLowerCase()}`;
    }
    if (options.token) world.env.PONDER_TOKEN = options.token;
    for (const name of ['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR', 'TMPDIR']) {
      world.env[name] = world.dir;
    }
    world.listen = '127.0.0.1:0';
    for (const log of options.logs ?? []) world.write(log);
    if (options.logs?.length) await world.ponder('thread', 'import', ...world.logs);
    await world.serve();
    return world;
  }

  logs = [];

  /** Writes a log, a list of a header and events, for ponder thread import. */
  write(log) {
    const file = join(this.dir, `log-${this.logs.length}.jsonl`);
    writeFileSync(file, log.map((line) => JSON.stringify(line) + '\n').join(''));
    this.logs.push(file);
  }

  /** Runs a command of ponder on the database. */
  async ponder(...args) {
    const all = ['--db', join(this.dir, 'page.db'), ...args];
    return (await promisify(execFile)(join(bin, 'ponder'), all, { cwd: this.dir, env: this.env, maxBuffer: 1 << 28 })).stdout;
  }

  async serve() {
    const args = ['serve', '--json', '--listen', this.listen, '--db', join(this.dir, 'page.db'), '--no-mind'];
    const { child, line } = await launch('ponder', args, this.env, this.dir);
    this.server = child;
    this.url = JSON.parse(line).address;
    this.listen = new URL(this.url).host;
  }

  /** Kills the server without a chance to end. */
  kill() {
    return end(this.server, 'SIGKILL');
  }

  async stop() {
    await end(this.server, 'SIGTERM');
    await end(this.sim, 'SIGTERM');
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Sends a request of another program. */
  async api(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'Content-Type': 'application/json', ...(this.options.token ? { Authorization: `Bearer ${this.options.token}` } : {}) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
  }

  /** Changes the simulated models while they run. */
  async setSim(config) {
    const response = await fetch(`${this.simURL}/sim/config`, { method: 'POST', body: JSON.stringify(config) });
    assert.equal(response.status, 200, await response.text());
  }
}

// Hosts that Chromium itself asks for updates and accounts, whatever page it shows.
const own = /^(POST http:\/\/|CONNECT )(update\.googleapis\.com|accounts\.google\.com|clients\d?\.google\.com|optimizationguide-pa\.googleapis\.com|content-autofill\.googleapis\.com|www\.googleapis\.com|android\.clients\.google\.com)[:\/]/;

/** A browser that can reach this machine only. Requests for other hosts end in a proxy that notes them. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.foreign = [];
    browser.proxy = http.createServer((request, response) => {
      browser.note(`${request.method} ${request.url}`);
      response.writeHead(403).end();
    });
    browser.proxy.on('connect', (request, socket) => {
      browser.note(`CONNECT ${request.url}`);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await new Promise((done) => browser.proxy.listen(0, '127.0.0.1', done));
    browser.chromium = await chromium.launch({
      executablePath: process.env.PONDER_CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--force-prefers-reduced-motion'],
      proxy: { server: `http://127.0.0.1:${browser.proxy.address().port}`, bypass: '127.0.0.1' },
    });
    return browser;
  }

  async stop() {
    await this.chromium.close();
    this.proxy.close();
  }

  note(request) {
    if (!own.test(request)) this.foreign.push(request);
  }

  /** Opens a page. It collects errors of scripts and of the console. */
  async page(url, options = {}) {
    const context = await this.chromium.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    this.watch(page);
    if (process.env.PONDER_PAGE_DIST) await serveFiles(context, process.env.PONDER_PAGE_DIST);
    await page.goto(url);
    return page;
  }

  watch(page) {
    page.setDefaultTimeout(limit);
    page.problems = [];
    page.on('pageerror', (error) => page.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // The browser itself reports each refused request; views show those in words.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) page.problems.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('dialog', (dialog) => {
      page.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && url.hostname !== '127.0.0.1') this.foreign.push(request.url());
    });
  }
}

/** Shows the files of a build that is not in the program, under the policy of the server. */
async function serveFiles(context, dir) {
  const kinds = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
  const show = async (route, name) => {
    const answer = await route.fetch();
    await route.fulfill({ headers: { ...answer.headers(), 'content-type': kinds[name.split('.').at(-1)] ?? 'font/woff2' }, body: readFileSync(join(dir, name)) });
  };
  await context.route(/^http:\/\/127\.0\.0\.1:\d+\/$/, (route) => show(route, 'index.html'));
  await context.route(/^http:\/\/127\.0\.0\.1:\d+\/(assets\/|icon\.svg)/, (route) => show(route, new URL(route.request().url()).pathname.slice(1)));
}

/** Fails if axe-core finds a serious or critical problem on the page, in its dark or its light theme. */
export async function checkAccess(page, name, schemes = ['light', 'dark']) {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze();
    const bad = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
    const report = bad.map((v) => `${v.id} (${v.impact}): ${v.help}\n${v.nodes.slice(0, 5).map((n) => `  ${n.target.join(' ')}: ${n.failureSummary?.replaceAll('\n', ' ')}`).join('\n')}`);
    assert.equal(bad.length, 0, `${name}, ${colorScheme}:\n${report.join('\n')}`);
  }
  await page.emulateMedia({ colorScheme: null });
}

/** Fails if the page is wider than its window. */
export async function checkWidth(page, name) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= window, `${name}: the page is ${content} px wide in a window of ${window} px`);
}

/** Fails if scripts of the page failed, or if it requested something from another machine. */
export function checkClean(browser, page, allowed = /^$/) {
  assert.deepEqual(page.problems.filter((p) => !allowed.test(p)), []);
  assert.deepEqual(browser.foreign, []);
}
