// The conformance suite of the Model Context Protocol: what it requires of servers in both
// eras, with tasks and all else that it runs beside. Many of its scenarios ask for tools,
// prompts and resources of its own: those are run if PONDER_SUITE is "all", and the server
// has them (see fixtures_test.go). The skills extension is not run: Ponder has none.
import test from 'node:test'
import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { check, token, url } from './check.mjs'

const all = process.env.PONDER_SUITE === 'all'

// eras are the revisions of the protocol, with how many checks there are at least.
const eras = all ? { '2026-07-28': 190, '2025-11-25': 80 } : { '2026-07-28': 40, '2025-11-25': 10 }

// own are the scenarios that need nothing of the suite's own.
const own = [
  'server-initialize', 'server-session-lifecycle', 'server-stateless', 'ping', 'tools-list', 'resources-list', 'prompts-list',
  'dns-rebinding-protection', 'caching', 'http-header-validation', 'sep-2164-resource-not-found', 'input-required-result-unsupported-methods',
]

// expected are the checks that are expected to fail, and why.
const tool = 'it asks a tool of the suite, which is there in the run with PONDER_SUITE=all'
const expected = all
  ? {}
  : Object.fromEntries([
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ].map((id) => [`server-stateless:${id}`, tool]))

const cli = fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url))
const node = process.execPath
const counts = { passed: 0, expected: 0, skipped: 0 }
process.on('exit', () => console.log(`note: ${counts.passed} checks passed, ${counts.expected} failed as expected, ${counts.skipped} skipped by the suite`))

// The suite sends no token: what stands between does.
const between = http.createServer((req, res) => {
  const headers = { ...req.headers, authorization: `Bearer ${token}` }
  const on = http.request(new URL(req.url, url), { method: req.method, headers }, (got) => {
    res.writeHead(got.statusCode, got.headers)
    got.pipe(res)
  })
  on.on('error', () => res.destroy())
  res.on('close', () => on.destroy())
  req.pipe(on)
})
await new Promise((ready) => between.listen(0, '127.0.0.1', ready))
test.after(() => between.close(() => {}) && between.closeAllConnections())

// results returns what the checks of an era came to, by scenario.
async function results(era) {
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'conformance-'))
  const at = `http://127.0.0.1:${between.address().port}/mcp`
  const run = promisify(execFile)(node, [cli, 'server', '--url', at, '--requirements', era, '-o', dir], { timeout: 240_000, maxBuffer: 1 << 26 })
  const { stdout } = await run.catch((err) => err) // it fails if a check does
  const found = {}
  for (const name of await fs.readdir(dir)) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)
    found[scenario] = JSON.parse(await fs.readFile(path.join(dir, name, 'checks.json'), 'utf8'))
  }
  await fs.rm(dir, { recursive: true })
  check.ok(Object.keys(found).length > 0, `no result: ${String(stdout).slice(-500)}`)
  return found
}

for (const [era, least] of Object.entries(eras)) {
  test(era, async (t) => {
    let passed = 0
    for (const [scenario, checks] of Object.entries(await results(era))) {
      if (!all && !own.includes(scenario)) continue
      await t.test(scenario, () => {
        const bad = []
        for (const one of checks) {
          const why = expected[`${scenario}:${one.id}`]
          if (one.status === 'INFO') continue
          if (one.status === 'SKIPPED') counts.skipped++
          else if (why && one.status !== 'SUCCESS') counts.expected++
          else if (why) bad.push(`${one.id} is expected to fail: ${why}`)
          else if (one.status !== 'SUCCESS') bad.push(`${one.id}: ${one.status} ${one.errorMessage} ${JSON.stringify(one.details)}`)
          else check.ok(++passed)
        }
        check.equal(bad.length, 0, bad.join('\n'))
      })
    }
    check.ok(passed >= least, `only ${passed} checks`)
    counts.passed += passed
  })
}
