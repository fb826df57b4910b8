// The official clients of the Model Context Protocol, of both of its eras, with `ponder mcp`,
// which each of them starts: with a model, and without any. PONDER_COMMAND is the program.
import test from 'node:test'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Client as Client2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { createTaskSessionFromClient, createApplicationInputHandler, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { check, clean } from './check.mjs'
import { sampled, stepped } from './mcp.mjs'

const question = 'Why is the sea blue?'
const info = { name: 'test', version: '1.0.0' }
const patient = { timeout: 300_000, resetTimeoutOnProgress: true }
const era = '2026-07-28'
const modern = { versionNegotiation: { mode: { pin: era } } }
const quiet = () => {}

// home returns the environment of a user of their own, who has a model or none.
async function home(t, model) {
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'ponder-mcp-'))
  t.after(() => fs.rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const env = { PATH: process.env.PATH, HOME: dir }
  for (const name of ['DATA_HOME', 'CONFIG_HOME', 'CACHE_HOME', 'STATE_HOME', 'RUNTIME_DIR']) env[`XDG_${name}`] = dir
  if (!model) return env
  for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'PONDER_MODEL_FAST', 'PONDER_MODEL_SLOW', 'PONDER_MODEL_CHEAP']) env[name] = process.env[name]
  return env
}

// program returns how `ponder mcp` is started.
const program = (env) => ({ command: process.env.PONDER_COMMAND, args: ['mcp'], env, stderr: 'ignore' })

// clients connect to a program of their own; with a model, if they are asked for it.
const clients = {
  'sdk 1': async (env, asked) => {
    const c = new Client1(info, { capabilities: asked ? { sampling: {} } : {} })
    if (asked) c.setRequestHandler(CreateMessageRequestSchema, async (req) => (asked(), sampled(req)))
    const transport = new Stdio1(program(env))
    await c.connect(transport)
    return { c, transport, call: (name, args, options) => c.callTool({ name, arguments: args }, undefined, { ...patient, ...options }) }
  },
  'client 2, before': (env, asked) => second(env, asked, {}),
  'client 2, 2026-07-28': (env, asked) => second(env, asked, modern),
}

async function second(env, asked, options) {
  const c = new Client2(info, { ...options, capabilities: asked ? { sampling: {} } : {} })
  if (asked) c.setRequestHandler('sampling/createMessage', async (req) => (asked(), sampled(req)))
  const transport = new Stdio2(program(env))
  await c.connect(transport)
  return { c, transport, call: (name, args, more) => c.callTool({ name, arguments: args }, { ...patient, ...more }) }
}

// ended waits until a program has ended.
async function ended(pid) {
  for (let i = 0; i < 600; i++) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await new Promise((go) => setTimeout(go, 50))
  }
  return false
}

// until asks for the sessions until one is as it should be.
async function until(call, status) {
  for (let i = 0; i < 600; i++) {
    const { structuredContent: out } = await call('ponder_session', { action: 'list' })
    if (out.sessions?.some((s) => s.status === status)) return true
    await new Promise((go) => setTimeout(go, 50))
  }
  return false
}

for (const [name, connect] of Object.entries(clients)) {
  test(`${name}, with a model`, async (t) => {
    const { c, call, transport } = await connect(await home(t, true))
    t.after(() => c.close())
    const pid = transport.pid

    const { tools } = await c.listTools()
    check.ok(tools.length >= 10 && tools.every((one) => one.outputSchema && one.description))
    check.ok((await c.listPrompts()).prompts.length >= 3)
    check.match((await c.getPrompt({ name: 'research', arguments: { question } })).messages[0].content.text, /Why is the sea blue/)
    check.equal((await c.listResourceTemplates()).resourceTemplates.length, 3)
    check.ok((await c.listResources()).resources.some((r) => r.uri === 'ponder://subconscious.json'))
    JSON.parse((await c.readResource({ uri: 'ponder://subconscious.json' })).contents[0].text)

    let last = 0
    const rises = (p) => {
      check.ok(p.progress > last)
      last = p.progress
    }
    const { structuredContent: out, content } = await call('ponder_think', { question, max_calls: 3 }, { onprogress: rises })
    check.equal(out.status, 'completed')
    check.ok(last > 0 && out.answer)
    clean(out.answer)
    clean(content)
    const { contents } = await c.readResource({ uri: `ponder://sessions/${out.session}/report` })
    check.match(contents[0].text, /Why is the sea blue/)
    await check.rejects(c.readResource({ uri: 'ponder://sessions/nothing' }))
    check.ok((await call('ponder_think', { question, effort: 'endless' })).isError)

    const stop = new AbortController()
    await check.rejects(call('ponder_deep_think', { question: 'And the sky?' }, { signal: stop.signal, onprogress: () => stop.abort() }))
    check.ok(await until(call, 'cancelled'))

    await c.close()
    check.ok(await ended(pid))
  })

  test(`${name}, without a key`, async (t) => {
    const env = await home(t, false)
    const plain = await connect(env)
    const { out, n } = await stepped(plain.call, question, 4)
    check.equal(out.status, 'completed')
    check.ok(out.answer && n >= 2)
    const { structuredContent: first } = await plain.call('ponder_think', { question })
    check.equal(first.status, 'needs_answer')
    check.match(first.prompt, /ponder_step/)
    await plain.c.close()

    let asked = 0
    const able = await connect(env, () => asked++)
    t.after(() => able.c.close())
    const { structuredContent: again } = await able.call('ponder_step', { session: first.session })
    check.equal(again.step, first.step) // another program, the same session
    const { structuredContent: thought } = await able.call('ponder_think', { question, max_calls: 5 })
    check.equal(thought.status, 'completed')
    check.ok(thought.answer && asked >= 2)
  })
}

// tasking returns a client that knows tasks, over a program of its own.
async function tasking(t, env, capabilities) {
  const able = { ...capabilities, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const c = new Client2(info, { ...modern, capabilities: able })
  const transport = new Stdio2(program(env))
  await c.connect(transport)
  const waiting = new Map()
  const others = transport.onmessage
  transport.onmessage = (message, extra) => {
    const found = waiting.get(message.id)
    if (!found) return others(message, extra)
    waiting.delete(message.id)
    found(message)
  }
  let n = 0
  const session = createTaskSessionFromClient(c, {
    endpointId: 'ponder',
    rawDispatch: (request) => new Promise((done) => {
      const id = `task-${++n}`
      waiting.set(id, (message) => done({ ...message, id: request.id }))
      transport.send({ ...request, jsonrpc: '2.0', id })
    }),
    v2RequestFraming: { protocolVersion: era, clientInfo: info, clientCapabilities: able },
    onInputRequest: createApplicationInputHandler({ sampling: async (req) => sampled(req), elicitation: quiet, roots: quiet }),
  })
  t.after(async () => {
    await session.close()
    await c.close()
  })
  return session
}

test('tasks', async (t) => {
  const session = await tasking(t, await home(t, true), {})
  const execution = await session.callTool('ponder_think', { question, max_calls: 3 })
  const { outcome } = await execution.settle()
  const out = resultFromTaskOutcome(outcome)
  check.equal(out.structuredContent.status, 'completed')
  check.ok(out.structuredContent.answer && out.content[0].text)
  clean(out)
})

test('tasks, without a key', async (t) => {
  const session = await tasking(t, await home(t, false), { sampling: {} })
  const execution = await session.callTool('ponder_think', { question, max_calls: 2 })
  const { outcome } = await execution.settle()
  check.equal(resultFromTaskOutcome(outcome).structuredContent.status, 'completed')
})
