import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Browser, checkAccess, checkClean, checkWidth, until, World } from './world.mjs';

let browser, world;
before(async () => {
  [browser, world] = await Promise.all([Browser.start(), World.start()]);
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

test('first view needs at most 180 KB of compressed scripts', async () => {
  const scripts = [];
  const context = await browser.chromium.newContext();
  const page = await context.newPage();
  browser.watch(page);
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.push(response);
  });
  const first = await page.goto(world.url);
  await page.getByLabel('Question', { exact: true }).waitFor();
  let bytes = 0;
  for (const script of scripts) bytes += gzipSync(await script.body()).length;
  assert.ok(scripts.length > 0 && bytes <= 180_000, `${bytes} bytes of ${scripts.length} scripts`);
  const policy = first.headers()['content-security-policy'];
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  checkClean(browser, page);
  await context.close();
});

test('form is accessible, and fits all widths', async () => {
  const page = await browser.page(world.url);
  await page.getByLabel('Question', { exact: true }).waitFor();
  await checkAccess(page, 'start');
  for (const width of [320, 768, 1440, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    await checkWidth(page, `start at ${width}`);
  }
  await page.keyboard.press('Escape');
  await page.locator('body').press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await checkAccess(page, 'keys');
  checkClean(browser, page);
  await page.context().close();
});

test('refused limits and a lost server keep the typed text', async (t) => {
  const own = await World.start();
  t.after(() => own.stop());
  const page = await browser.page(own.url);
  await page.getByLabel('Question', { exact: true }).fill('Why is the sky blue?');
  await page.getByLabel('Tokens').fill('many');
  await page.getByText('write a number above 0').waitFor();
  await page.getByLabel('Tokens').fill('50k');
  await page.getByText('write a number above 0').waitFor({ state: 'detached' });
  await own.kill();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('The server cannot be reached').first().waitFor();
  assert.equal(await page.getByLabel('Question', { exact: true }).inputValue(), 'Why is the sky blue?');
  await page.reload().catch(() => {}); // the server is away
  await own.serve();
  await until(() => page.goto(own.url).then(() => true, () => false), 'the page is back'); // the reload may still fail
  assert.equal(await page.getByLabel('Question', { exact: true }).inputValue(), 'Why is the sky blue?');
  assert.equal(await page.getByLabel('Tokens').inputValue(), '50k');
  await page.context().close();
});

test('without JavaScript the page says what works', async () => {
  const page = await browser.page(world.url, { javaScriptEnabled: false });
  const text = await page.locator('body').innerText();
  assert.match(text, /This page needs JavaScript/);
  assert.match(text, /ponder session export/);
  await page.context().close();
});

test('file is sent to the memory; a file that is too large names the remedy', async () => {
  const page = await browser.page(world.url);
  await page.getByLabel('Question', { exact: true }).fill('When was the granary built?');
  const choose = page.locator('input[type=file]');
  await choose.setInputFiles({ name: 'granary.txt', mimeType: 'text/plain', buffer: Buffer.from('The granary of Elmfield was built in 1823. It holds 400 tons of rye.') });
  await page.getByText('kept in your memory').waitFor();
  const found = await world.api('GET', '/api/memory/search?q=granary');
  assert.match(JSON.stringify(found), /built in 1823/);
  await choose.setInputFiles({ name: 'huge.txt', mimeType: 'text/plain', buffer: Buffer.alloc(9 << 20, 'x') });
  await page.getByText('too large').waitFor();
  await page.getByText('a folder of the server').first().waitFor();
  assert.equal(await page.getByLabel('Question', { exact: true }).inputValue(), 'When was the granary built?');
  await checkAccess(page, 'files', ['light']);
  await page.context().close();
});

test('recent work can be searched', async () => {
  const thread = await world.api('POST', '/api/threads', { title: 'Tides of the Wadden Sea' });
  await world.api('POST', '/api/threads', { title: 'Bread without yeast' });
  const page = await browser.page(`${world.url}/#/work`);
  await page.getByText('Bread without yeast').waitFor();
  await page.getByLabel('Search all work').fill('tides');
  await page.getByText('Bread without yeast').waitFor({ state: 'detached' });
  assert.match(await page.getByRole('link', { name: /Tides/ }).getAttribute('href'), new RegExp(thread.thread_id));
  await checkAccess(page, 'work');
  await page.context().close();
});

test('without a model the page lists what works, and a new model is tested at once', async (t) => {
  const own = await World.start({ models: false });
  t.after(() => own.stop());
  const page = await browser.page((await own.ponder('open', '--print')).split('\n')[0]); // signed in as the user of the server
  await page.getByText('No model answers yet').waitFor();
  const region = page.getByRole('region', { name: 'No model' });
  assert.ok((await region.getByRole('listitem').count()) > 2, 'functions without a model');
  await checkAccess(page, 'no model');
  await region.getByLabel('Where does it run?').selectOption('local');
  await region.getByLabel('Address').fill('http://127.0.0.1:9/v1');
  await region.getByLabel('Model', { exact: true }).fill('qwen3-4b');
  await region.getByRole('button', { name: 'Test it' }).click();
  await region.locator('.wrong').waitFor();
  await region.getByLabel('Address').fill(`${own.simURL}/v1`);
  await region.getByRole('button', { name: 'Test it' }).click();
  await region.getByText('It answers').waitFor();
  await region.getByRole('button', { name: 'Use this model' }).click();
  await page.getByText('No model answers yet').waitFor({ state: 'detached' });
  await until(async () => JSON.stringify(await own.api('GET', '/api/models')).includes('local/qwen3-4b'), 'the model is set');
  checkClean(browser, page, /status of 4|ERR_/);
  await page.context().close();
});
