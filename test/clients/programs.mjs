// Programs for a terminal, each in a temporary folder with a home of its own: one answer, one file
// that the model writes with the program's tools, and the errors that a user sees. TestAll runs
// the test of the program that is installed.
import test from 'node:test'
import { spawn } from 'node:child_process'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { check, clean, question, answer, token, url } from './check.mjs'

const here = path.dirname(fileURLToPath(import.meta.url))
const local = (...names) => path.join(here, ...names)

// program returns a function that runs a program in a folder and returns its output.
async function program(t, command, more = {}) {
  const dir = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), 'ponder-program-')))
  t.after(() => fs.rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const work = path.join(dir, 'work')
  const home = path.join(dir, 'home')
  await fs.mkdir(work)
  await fs.mkdir(home)
  const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home, TMPDIR: dir, NO_COLOR: '1', ...more }
  const run = (...args) =>
    new Promise((done, fail) => {
      const child = spawn(command[0], [...command.slice(1), ...args], { cwd: work, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (d) => (stdout += d))
      child.stderr.on('data', (d) => (stderr += d))
      child.on('error', fail)
      child.on('close', (code, signal) => {
        if (signal) return fail(new Error(`${command[0]} ended with ${signal}: ${stdout}${stderr}`))
        clean(stdout)
        done({ code, stdout, stderr, lines: () => stdout.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l)) })
      })
    })
  const greeting = async () => check.equal(await fs.readFile(path.join(work, 'greeting.txt'), 'utf8'), 'Hello from Ponder\n')
  return { run, work, greeting }
}

const system = `${process.platform}-${process.arch}`

test('claude-code', async (t) => {
  const { run, greeting } = await program(t, [local(`node_modules/@anthropic-ai/claude-code-${system}/claude`)], {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: token,
    ANTHROPIC_MODEL: 'ponder/chat',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '0',
    DISABLE_AUTOUPDATER: '1',
  })
  const ask = async (text, ...more) => JSON.parse((await run('-p', text, '--output-format', 'json', ...more)).stdout)
  const said = await ask(question)
  check.equal(said.result, answer)
  check.ok(said.usage.input_tokens > 0)
  check.equal((await ask(question, '--continue')).result, answer)

  const wrote = await run('-p', 'Write a greeting by Claude Code', '--allowedTools', 'Write', '--output-format', 'stream-json', '--verbose', '--include-partial-messages')
  await greeting()
  const events = wrote.lines()
  check.ok(events.some((e) => e.event?.delta?.type === 'input_json_delta'))
  check.equal(events.at(-1).result, 'The greeting is in place.')

  const long = await ask('Say too much, Claude Code.')
  check.ok(long.is_error)
  check.match(long.result, /^Prompt is too long/)
  const often = await ask('Say it too often, Claude Code.')
  check.equal(often.api_error_status, 429)
})

test('codex', async (t) => {
  const provider = `model_providers.ponder={name="Ponder",base_url="${url}/v1",env_key="PONDER_TOKEN",wire_api="responses",request_max_retries=0,stream_max_retries=0}`
  const command = [process.execPath, local('node_modules/@openai/codex/bin/codex.js'), 'exec', '--json', '--skip-git-repo-check', '--sandbox', 'danger-full-access', '-c', 'model_provider="ponder"', '-c', provider, '-m', 'ponder/chat']
  const { run, greeting } = await program(t, command, { PONDER_TOKEN: token })
  const items = (lines, type) => lines.filter((l) => l.type === 'item.completed' && l.item.type === type).map((l) => l.item)
  const said = (await run(question)).lines()
  check.equal(items(said, 'agent_message').at(-1).text, answer)
  check.ok(items(said, 'reasoning').length > 0)
  check.ok(said.at(-1).usage.input_tokens > 0)

  const wrote = (await run('Write a greeting by Codex')).lines()
  await greeting()
  check.equal(items(wrote, 'command_execution')[0].exit_code, 0)
  check.equal(items(wrote, 'agent_message').at(-1).text, 'The greeting is in place.')

  const long = (await run('Say too much, Codex.')).lines().at(-1)
  check.equal(long.type, 'turn.failed')
  check.match(long.error.message, /context window/)
  const often = (await run('Say it too often, Codex.')).lines().at(-1)
  check.match(often.error.message, /429/)
})

test('opencode', async (t) => {
  const { run, work, greeting } = await program(t, [local(`node_modules/opencode-${system}/bin/opencode`), 'run', '--format', 'json'], {
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  })
  const model = { name: 'Ponder', npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: token }, models: { 'ponder/chat': { name: 'chat' } } }
  const config = { model: 'ponder/ponder/chat', small_model: 'ponder/ponder/chat', autoupdate: false, share: 'disabled', permission: 'allow', enabled_providers: ['ponder'], provider: { ponder: model } }
  await fs.writeFile(path.join(work, 'opencode.json'), JSON.stringify(config))
  const text = (lines) => lines.filter((l) => l.type === 'text').map((l) => l.part.text)
  check.equal(text((await run(question)).lines()).join(''), answer)
  const wrote = (await run('Write a greeting by opencode')).lines()
  await greeting()
  check.equal(text(wrote).at(-1), 'The greeting is in place.')
  const often = await run('Say a forbidden thing, opencode.')
  check.ok(often.lines().some((l) => l.type === 'error'))
})

test('aider', async (t) => {
  const command = [local('.venv/bin/python'), '-m', 'aider', '--model', 'openai/ponder/chat', '--edit-format', 'diff', '--yes-always', '--no-git', '--no-check-update', '--no-show-release-notes', '--no-show-model-warnings', '--analytics-disable', '--no-pretty', '--map-tokens', '0', '--no-detect-urls']
  const { run, greeting } = await program(t, command, { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: token, LITELLM_LOCAL_MODEL_COST_MAP: 'True' })
  for (const more of ['--stream', '--no-stream']) {
    const said = await run(more, '--message', question)
    check.ok(said.stdout.includes(answer), said.stdout)
  }
  await run('--message', 'Write a greeting by aider')
  await greeting()
  const long = await run('--message', 'Say too much, aider.')
  check.match(long.stdout, /context|token limit/i)
})
