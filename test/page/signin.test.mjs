import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, checkAccess, checkClean, until, World } from './world.mjs';

const token = 'secret-of-the-page-0123456789';
let browser, world;
before(async () => {
  [browser, world] = await Promise.all([Browser.start(), World.start({ token })]);
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

test('wrong token is refused in words, and the right one signs in with a cookie that scripts cannot read', async () => {
  const page = await browser.page(world.url);
  const field = page.getByLabel('Token');
  await field.waitFor();
  await checkAccess(page, 'sign-in');
  await field.fill('wrong-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('does not know this token').waitFor();
  await field.fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Question', { exact: true }).waitFor();
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  assert.equal(cookies[0].httpOnly, true);
  assert.equal(cookies[0].sameSite, 'Strict');
  assert.ok(!JSON.stringify(await page.evaluate(() => [document.cookie, { ...localStorage }, { ...sessionStorage }])).includes(token), 'token is stored nowhere');
  await page.reload();
  await page.getByLabel('Question', { exact: true }).waitFor();
  checkClean(browser, page, /401/);
  await page.context().close();
});

test('expired sign-in shows the form, and keeps the typed text', async () => {
  const page = await browser.page(world.url);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Question', { exact: true }).fill('Why do rivers meander?');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  assert.equal(await page.getByLabel('Question', { exact: true }).inputValue(), 'Why do rivers meander?');
  await page.context().close();
});

test('request of another site changes nothing', async () => {
  const page = await browser.page(world.url);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Question', { exact: true }).waitFor();
  const [cookie] = await page.context().cookies();
  const response = await fetch(`${world.url}/api/threads`, {
    method: 'POST', body: '{"title":"forged"}',
    headers: { 'Content-Type': 'application/json', Cookie: `${cookie.name}=${cookie.value}`, Origin: 'https://attacker.test', 'Sec-Fetch-Site': 'cross-site' },
  });
  assert.equal(response.status, 403);
  assert.ok(!JSON.stringify(await world.api('GET', '/api/threads')).includes('forged'));
  await page.context().close();
});

test('code of ponder open signs in once', async () => {
  const { code } = await world.api('POST', '/api/sign-in/codes', {});
  const page = await browser.page(`${world.url}/#/sign-in/${code}`);
  await page.getByLabel('Question', { exact: true }).waitFor();
  await until(() => !page.url().includes(code), 'the address without the code');
  await page.context().close();
  const other = await browser.page(`${world.url}/#/sign-in/${code}`);
  await other.getByLabel('Token').waitFor();
  await other.context().close();
});
