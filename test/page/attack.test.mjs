import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chatLog, researchLog, sessionLog } from './logs.mjs';
import { Browser, checkClean, until, World } from './world.mjs';

const vectors = readFileSync('testdata/vectors.jsonl', 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const texts = vectors.map((v) => v.text);
const storable = texts.map((text) => text.replaceAll('\0', '')); // titles and names

// Fields that a log has only a few times get many vectors at once, so that each field gets each vector.
const groups = 12;
const rare = /synthesis|answer|insight$|remaining|finding|subject|attribute|unit|value|reason|plan|step|term|query|label|end|heading|correction|^question$|^title$/;
function vectorText(field, n) {
  if (field === 'answer') return storable.join('\n\n');
  if (rare.test(field)) return storable.filter((_, i) => i % groups === n % groups).join('\n\n');
  return storable[n % storable.length];
}

let browser, world, session, research, chat;
before(async () => {
  session = sessionLog(vectors.length, vectorText, { questions: vectors.length, evidence: vectors.length, title: storable[0] });
  research = researchLog(vectorText, { claims: vectors.length, evidence: vectors.length, title: storable[1] });
  chat = chatLog(storable.flatMap((text) => [text, text]), { files: storable, title: storable[2], thoughts: storable });
  const titles = storable.map((title) => chatLog(['Hello', 'Good day'], { title }));
  [browser, world] = await Promise.all([
    Browser.start(),
    World.start({ logs: [session, research, chat, ...titles], script: [{ match: 'all vectors', reply: storable.join('\n\n') }] }),
  ]);
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

test('vectors run where nothing holds them back', async () => {
  assert.ok(vectors.length >= 90, `${vectors.length} vectors`);
  const free = await Browser.start();
  const page = await free.page('about:blank');
  const fired = new Set();
  for (const v of vectors.filter((v) => v.kind === 'html')) {
    page.problems.length = free.foreign.length = 0;
    await page.evaluate((text) => {
      delete window.ponderAttack;
      document.open();
      document.write(`<!doctype html><div id=box></div>${text}`);
      document.close();
    }, v.text).catch(() => {});
    await page.waitForTimeout(30);
    const flag = await page.evaluate(() => window.ponderAttack).catch(() => null);
    if (flag || page.problems.length > 0 || free.foreign.length > 0) fired.add(v.id);
    if (page.url() !== 'about:blank') await page.goto('about:blank');
  }
  assert.ok(fired.size >= 30, `only ${fired.size} vectors run in a page without defence`);
  await free.stop();
});

/** Opens all that can be opened, and shows all that scrolls. */
async function showAll(page) {
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    await page.evaluate(async () => {
      for (const details of document.querySelectorAll('main details')) details.open = true;
      for (const button of [...document.querySelectorAll('main [aria-expanded=false]')].slice(0, 40)) button.click();
      const pause = () => new Promise((done) => setTimeout(done, 30));
      const scrolling = [document.scrollingElement, ...document.querySelectorAll('main *')].filter((e) => e.scrollHeight > e.clientHeight + 40 && (e === document.scrollingElement || /auto|scroll/.test(getComputedStyle(e).overflowY)));
      for (const element of scrolling) {
        for (let top = 0, steps = 0; top < element.scrollHeight && steps < 40; top += Math.max(element.clientHeight, element.scrollHeight / 40), steps++) {
          element.scrollTop = top;
          await pause();
        }
      }
    });
  }
}

async function checkHarmless(page, name) {
  for (const frame of page.frames()) {
    const state = await frame.evaluate(() => ({
      flag: window.ponderAttack, polluted: {}.polluted,
      scripts: [...document.scripts].filter((s) => !s.src || new URL(s.src).origin !== (window.origin === 'null' ? new URL(location.href).origin : location.origin)).map((s) => s.outerHTML.slice(0, 200)),
      handlers: [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames().filter((a) => /^on/i.test(a)).map((a) => `${e.tagName} ${a}`)).slice(0, 5),
      links: [...document.querySelectorAll('a[href], area[href], form[action], [formaction]')].map((a) => (a.href?.baseVal ?? a.href ?? a.action ?? '').toString())
        .filter((href) => href && !/^(https?:|mailto:|blob:|#)/i.test(href.trim())).slice(0, 5),
      strange: [...document.querySelectorAll('object, embed, base, portal, meta[http-equiv], link:not([rel=stylesheet], [rel=icon], [rel=modulepreload], [rel=manifest]), iframe[srcdoc], marquee, video[src], audio[src]')].map((e) => e.outerHTML.slice(0, 200)).slice(0, 5),
    })).catch((error) => ({ error: error.message }));
    assert.deepEqual(state, { flag: undefined, polluted: undefined, scripts: [], handlers: [], links: [], strange: [] }, `${name}, ${frame.url()}`);
  }
  // Diagrams are drawn in a frame without origin, cookies and network. Its policy is the last defence.
  checkClean(browser, page, /^console: (Executing inline event handler|Applying inline style) violates .*\/assets\/[\w.-]+\)$/s);
}

/** The number of vectors whose text is in the page: a view that shows nothing passes no test. */
async function shown(page) {
  const text = await page.evaluate(() => document.body.innerText);
  return vectors.filter((v) => text.includes(v.id)).length;
}

for (const [name, path, least] of [
  ['start', () => '#/', 5],
  ['work', () => '#/work', 120],
  ['session', () => `#/session/${session[0].thread_id}`, 10],
  ['research', () => `#/research/${research[0].thread_id}`, 10],
  ['chat', () => `#/chat/${chat[0].thread_id}`, 10],
  ['memory', () => '#/memory', 0],
  ['usage', () => '#/usage', 0],
  ['mind', () => '#/mind', 0],
  ['eval', () => '#/eval', 0],
  ['settings', () => '#/settings', 0],
  ['shares', () => '#/shares', 0],
]) {
  test(`no vector runs in ${name}`, async () => {
    browser.foreign.length = 0;
    const page = await browser.page(`${world.url}/${path()}`);
    await until(async () => (await shown(page)) >= least, `${name} shows ${least} vectors`, 30_000);
    await showAll(page);
    await checkHarmless(page, name);
    await page.context().close();
  });
}

test('no vector runs in an answer as it arrives', async () => {
  browser.foreign.length = 0;
  const thread = await world.api('POST', '/api/threads', { title: 'stream' });
  const page = await browser.page(`${world.url}/#/chat/${thread.thread_id}`);
  await world.api('POST', `/api/threads/${thread.thread_id}/messages?wait=60s`, { content: 'all vectors' });
  await until(async () => (await shown(page)) > 100, 'the answer is shown', 30_000);
  await showAll(page);
  await checkHarmless(page, 'answer');
  await page.context().close();
});
