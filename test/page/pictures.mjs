// Takes the pictures of docs/page.md: node pictures.mjs [FOLDER]. Needs the programs of make build, and pngquant if it is there.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exampleLogs } from './examples.mjs';
import { chatLog, researchLog, sessionLog } from './logs.mjs';
import { Browser, World } from './world.mjs';

const folder = process.argv[2] ?? '../../internal/page/pictures';
mkdirSync(folder, { recursive: true });
const logs = exampleLogs({ chatLog, researchLog, sessionLog });
const [browser, world] = await Promise.all([Browser.start(), World.start({ logs: Object.values(logs) })]);
const views = {
  start: '', session: `session/${logs.session[0].thread_id}`, research: `research/${logs.research[0].thread_id}`, chat: `chat/${logs.chat[0].thread_id}`,
  memory: 'memory', usage: 'usage', mind: 'mind', eval: 'eval', settings: 'settings', shares: 'shares',
};
const files = [];
for (const [name, path] of Object.entries(views)) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.page(`${world.url}/#/${path}`, { colorScheme });
    for (const width of [320, 768, 1440]) {
      await page.setViewportSize({ width, height: width === 320 ? 640 : 900 });
      await page.waitForTimeout(1000); // pictures settle after their data
      const file = join(folder, `${name}-${width}-${colorScheme}.png`);
      await page.screenshot({ path: file });
      files.push(file);
    }
    await page.context().close();
  }
}
try {
  execFileSync('pngquant', ['--force', '--ext', '.png', '--speed', '1', '24', '--', ...files]);
} catch (error) {
  console.error(`pictures stay large: ${error.message}`);
}
await browser.stop();
await world.stop();
