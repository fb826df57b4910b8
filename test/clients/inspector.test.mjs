// The inspector of the Model Context Protocol, strict, with `ponder mcp`, which it starts,
// and with the server over HTTP, in both eras: schemas that some clients do not know are
// errors here, and so is whatever else it has to say.
import test from 'node:test'
import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { check, clean, token, url } from './check.mjs'

const cli = fileURLToPath(new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url))
const node = process.execPath
const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'ponder-inspector-'))
test.after(() => fs.rm(dir, { recursive: true, force: true, maxRetries: 5 }))
const env = { PATH: `${path.dirname(node)}:${process.env.PATH}`, HOME: dir, NO_COLOR: '1' }
for (const name of ['DATA_HOME', 'CONFIG_HOME', 'CACHE_HOME', 'STATE_HOME', 'RUNTIME_DIR']) env[`XDG_${name}`] = dir

const targets = {
  'ponder mcp': [process.env.PONDER_COMMAND, 'mcp'],
  HTTP: [new URL('/mcp', url).href, '--header', `Authorization: Bearer ${token}`],
}

for (const [name, target] of Object.entries(targets)) {
  for (const era of ['legacy', 'modern']) {
    test(`${name}, ${era}`, async () => {
      const run = async (...args) => {
        const all = [cli, '--cli', ...target, '--protocol-era', era, '--connect-timeout', '60000', ...args]
        const running = promisify(execFile)(node, all, { env, timeout: 120_000, maxBuffer: 1 << 26 })
        running.child.stdin.end() // it would wait
        const { stdout, stderr } = await running
        check.equal(stderr.trim(), '')
        return JSON.parse(stdout)
      }
      const { tools } = await run('--method', 'tools/list', '--strict') // it fails if a schema is wrong
      check.ok(tools.length >= 10)
      const out = await run('--method', 'tools/call', '--tool-name', 'ponder_session', '--tool-arg', 'action=list')
      check.ok(!out.isError && out.structuredContent.status === 'listed')
      clean(out)
    })
  }
}
