import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { sessionLog } from './logs.mjs';
import { Browser, checkAccess, checkClean, checkWidth, until, World } from './world.mjs';

const question = 'Why do large projects run late?';
let browser, world, long;
before(async () => {
  long = sessionLog(5000, (field, n) => `${field} ${n} of a long session`, { title: 'Five thousand thoughts' });
  [browser, world] = await Promise.all([Browser.start(), World.start({ logs: [long], sim: ['--latency', '1s'] })]);
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

/** Starts a session through the form. Returns its ID. */
async function ask(page) {
  await page.getByLabel('Question', { exact: true }).fill(question);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/#\/session\/thr_/);
  return /thr_\w+/.exec(page.url())[0];
}

const thoughtsOf = async (id) => (await world.api('GET', `/api/thinking/${id}`)).session.progress;
const statusOf = async (id) => (await world.api('GET', `/api/thinking/${id}`)).session.status;
/** The number of thoughts that a page has: the sum over their kinds. */
const shownOf = (page) => page.evaluate(() => [...document.querySelectorAll('section[aria-labelledby=thoughts-title] .filter .chip .num')].reduce((n, e) => n + Number(e.textContent.replace(/\D/g, '')), 0));
const press = (page, name) => page.getByRole('button', { name, exact: true }).first().click();

test('whole path: question, thoughts, each kind of steering, answer, export', async () => {
  const page = await browser.page(world.url);
  const id = await ask(page);
  await page.getByRole('feed', { name: 'Thoughts' }).locator('article').first().waitFor();
  const steered = async () => (await world.api('GET', `/api/thinking/${id}/export?format=json`)).steering?.length ?? 0;
  const does = async (what, act) => {
    const done = await steered();
    await act();
    await until(async () => (await steered()) > done, what);
  };
  // A paused session takes commands too, and no question ends before its command.
  await press(page, 'Pause');
  await until(async () => (await statusOf(id)) === 'paused', 'pause');
  await does('add a question', async () => {
    await page.getByLabel('Add a question').fill('What does it cost to be late?');
    await press(page, 'Add');
  });
  await page.getByText('What does it cost to be late?').first().waitFor();
  await does('correct a fact', async () => {
    await page.getByText('Correct a fact').click();
    await page.getByLabel('The correct fact').fill('Most projects of the study were public ones.');
    await press(page, 'Correct');
  });
  await does('change the budget', async () => {
    await press(page, 'Change the budget');
    await page.getByLabel('Minutes').fill('9');
    await press(page, 'Change');
  });
  await page.locator('button.line', { hasText: 'What does it cost to be late?' }).first().click();
  await does('rank a question', () => page.getByRole('button', { name: /^Rank \S+ higher$/ }).first().click());
  await does('drop a question', () => press(page, 'Drop'));
  await press(page, 'Resume');
  await until(async () => (await statusOf(id)) === 'thinking', 'resume');
  await checkAccess(page, 'session', ['light']);
  await press(page, 'Answer now');
  await until(async () => (await statusOf(id)) === 'completed', 'answer');
  await press(page, 'Export and more');
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /Markdown/ }).click()]);
  const text = readFileSync(await file.path(), 'utf8');
  assert.ok(text.includes(question) && text.includes('What does it cost to be late?') && text.length > 1000, 'export has question, added question and answer');
  checkClean(browser, page);
  await page.context().close();
});

test('page continues after the server was killed; nothing is missing, nothing twice; in two tabs and on a phone', async () => {
  const first = await browser.page(world.url);
  const id = await ask(first);
  const second = await browser.page(first.url());
  const phone = await browser.page(first.url(), { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const pages = [first, second, phone];
  for (const page of pages) await page.getByRole('feed', { name: 'Thoughts' }).locator('article').first().waitFor();
  const before = (await thoughtsOf(id)).total_thoughts;
  await world.kill();
  await first.getByText('The server cannot be reached').first().waitFor();
  await world.serve();
  await until(async () => (await thoughtsOf(id)).total_thoughts > before + 3, 'the session continues');
  await phone.getByRole('button', { name: 'Pause', exact: true }).first().click();
  await until(async () => (await statusOf(id)) === 'paused', 'pause on the phone');
  const { thoughts } = await world.api('GET', `/api/thinking/${id}/export?format=json`);
  for (const page of pages) {
    await page.getByRole('button', { name: 'Resume', exact: true }).first().waitFor();
    await until(async () => (await shownOf(page)) === thoughts.length, `${thoughts.length} thoughts on each page`);
    const texts = await page.getByRole('feed', { name: 'Thoughts' }).locator('article').allInnerTexts();
    assert.equal(new Set(texts).size, texts.length, 'no thought twice');
  }
  await checkWidth(phone, 'session on a phone');
  await checkAccess(phone, 'session on a phone', ['dark']);
  for (const page of pages) {
    assert.deepEqual(page.problems.filter((p) => !/ERR_CONNECTION|Failed to fetch/.test(p)), []);
    await page.context().close();
  }
  await world.api('POST', `/api/thinking/${id}/cancel`, {});
});

test('session of 5,000 thoughts is shown whole, in a window of its rows', async () => {
  const page = await browser.page(`${world.url}/#/session/${long[0].thread_id}`);
  await page.getByRole('feed', { name: 'Thoughts' }).locator('article').first().waitFor();
  await until(async () => (await shownOf(page)) === 5000, '5,000 thoughts');
  const rows = await page.getByRole('feed', { name: 'Thoughts' }).locator('article').count();
  assert.ok(rows > 3 && rows < 300, `${rows} rows in the document`);
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 6000, 'size of the document');
  checkClean(browser, page);
  await page.context().close();
});

test('session that was removed elsewhere says so', async () => {
  const { session_id: id } = await world.api('POST', '/api/thinking/start', { question, duration_minutes: 5 });
  const page = await browser.page(`${world.url}/#/session/${id}`);
  await page.getByRole('feed', { name: 'Thoughts' }).waitFor();
  await world.api('POST', `/api/thinking/${id}/pause`, {});
  await until(async () => (await statusOf(id)) === 'paused', 'pause');
  await world.api('DELETE', `/api/threads/${id}`);
  await page.getByText(/removed|no thread|not found|does not exist/i).first().waitFor().catch(async (error) => {
    throw new Error(`${error.message}\nthe page says: ${(await page.innerText('body')).slice(0, 500)}`);
  });
  await page.context().close();
});

test('model that fails is named with the remedy, and a device with a wrong clock shows right times', async (t) => {
  const own = await World.start({ script: [{ match: '.', error: { status: 401 } }] });
  t.after(() => own.stop());
  const { session_id: id } = await own.api('POST', '/api/thinking/start', { question, duration_minutes: 1 });
  const page = await browser.page('about:blank');
  await page.clock.setSystemTime(Date.now() - 400 * 86_400_000); // the device is a year late
  await page.goto(`${own.url}/#/session/${id}`);
  await page.getByText(/key|model/i).first().waitFor();
  await page.goto(`${own.url}/#/work`);
  await page.getByRole('link', { name: /large projects/ }).waitFor();
  assert.doesNotMatch(await page.getByRole('link', { name: /large projects/ }).innerText(), /year|month|day/);
  await page.context().close();
});
