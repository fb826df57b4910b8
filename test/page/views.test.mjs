import { after, before, test } from 'node:test';
import { chatLog, researchLog, sessionLog } from './logs.mjs';
import { Browser, checkAccess, checkClean, checkWidth, World } from './world.mjs';
import { exampleLogs } from './examples.mjs';

let browser, world, logs;
before(async () => {
  logs = exampleLogs({ chatLog, researchLog, sessionLog });
  [browser, world] = await Promise.all([Browser.start(), World.start({ logs: Object.values(logs) })]);
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

for (const [name, path] of [
  ['session', () => `#/session/${logs.session[0].thread_id}`],
  ['research', () => `#/research/${logs.research[0].thread_id}`],
  ['chat', () => `#/chat/${logs.chat[0].thread_id}`],
  ['memory', () => '#/memory'],
  ['usage', () => '#/usage'],
  ['mind', () => '#/mind'],
  ['eval', () => '#/eval'],
  ['settings', () => '#/settings'],
  ['shares', () => '#/shares'],
]) {
  test(`${name} is accessible in both themes, and fits all widths`, async () => {
    const page = await browser.page(`${world.url}/${path()}`);
    await page.locator('main h1, main h2').first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => {}); // streams stay open
    await checkAccess(page, name);
    for (const width of [320, 768, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await checkWidth(page, `${name} at ${width}`);
    }
    checkClean(browser, page);
    await page.context().close();
  });
}
