// The official client of the Agent Client Protocol, which starts `ponder acp` as an editor does.
import test from 'node:test'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import * as acp from '@agentclientprotocol/sdk'
import { check, clean, question, answer } from './check.mjs'

// environment returns that of a user of their own.
async function environment(t) {
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'ponder-acp-'))
  t.after(() => fs.rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const env = { PATH: process.env.PATH, HOME: dir }
  for (const name of ['DATA_HOME', 'CONFIG_HOME', 'CACHE_HOME', 'STATE_HOME', 'RUNTIME_DIR']) env[`XDG_${name}`] = dir
  for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'PONDER_MODEL_FAST', 'PONDER_MODEL_SLOW', 'PONDER_MODEL_CHEAP']) env[name] = process.env[name]
  return env
}

// editor starts the agent and calls do with its client and what it has sent.
async function editor(env, run) {
  const child = spawn(process.env.PONDER_COMMAND, ['acp'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = new Promise((done) => child.on('exit', done))
  const sent = []
  const app = acp
    .client({ name: 'test' })
    .onRequest(acp.methods.client.session.requestPermission, () => ({ outcome: { outcome: 'selected', optionId: 'allow' } }))
    .onNotification(acp.methods.client.session.update, ({ params }) => void sent.push(params.update))
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))
  try {
    return await app.connectWith(stream, (ctx) => run(ctx, sent))
  } finally {
    child.stdin.end()
    const code = await ended
    if (code !== 0) console.log(`note: ponder acp ended with ${code}`)
    clean(sent)
  }
}

const cwd = os.tmpdir()
const agent = acp.methods.agent
const text = (sent, kind) => sent.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join('')
const prompt = (ctx, sessionId, words) => ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: words }] })

test('an editor', async (t) => {
  const env = await environment(t)
  const id = await editor(env, async (ctx, sent) => {
    const hello = await ctx.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} })
    check.equal(hello.protocolVersion, acp.PROTOCOL_VERSION)
    check.ok(hello.agentCapabilities.loadSession && hello.agentCapabilities.sessionCapabilities.list)
    const { sessionId, modes, configOptions } = await ctx.request(agent.session.new, { cwd, mcpServers: [] })
    check.deepEqual(modes.availableModes.map((m) => m.id), ['think', 'deep_think', 'research', 'session', 'subconscious'])
    check.ok(configOptions.some((o) => o.category === 'mode'))

    check.equal((await prompt(ctx, sessionId, question)).stopReason, 'end_turn')
    check.ok(text(sent, 'agent_message_chunk').includes(answer))
    const names = sent.find((u) => u.sessionUpdate === 'available_commands_update').availableCommands.map((c) => c.name)
    check.ok(['session', 'pause', 'steer'].every((n) => names.includes(n)))

    await ctx.request(agent.session.setMode, { sessionId, modeId: 'subconscious' })
    check.equal((await prompt(ctx, sessionId, 'What is on your mind?')).stopReason, 'end_turn')
    check.match(text(sent, 'agent_message_chunk'), /subconscious has no entries/)

    const changed = await ctx.request(agent.session.setConfigOption, { sessionId, configId: 'minutes', value: '5' })
    check.equal(changed.configOptions.find((o) => o.id === 'minutes').currentValue, '5')
    const before = sent.length
    check.equal((await prompt(ctx, sessionId, '/session max_calls=6 Why is the sea blue?')).stopReason, 'end_turn')
    check.ok(text(sent.slice(before), 'agent_thought_chunk') && text(sent.slice(before), 'agent_message_chunk'))
    return sessionId
  })

  // another process continues it
  await editor(env, async (ctx, sent) => {
    await ctx.request(agent.initialize, { protocolVersion: 1 })
    const { sessions } = await ctx.request(agent.session.list, {})
    check.ok(sessions.some((s) => s.sessionId === id))
    await ctx.request(agent.session.load, { sessionId: id, cwd, mcpServers: [] })
    check.equal(text(sent, 'user_message_chunk'), question + 'Why is the sea blue?')
    check.ok(text(sent, 'agent_message_chunk').includes(answer))
    check.equal((await prompt(ctx, id, '/report')).stopReason, 'end_turn')
    await check.rejects(ctx.request(agent.session.load, { sessionId: 'nothing', cwd, mcpServers: [] }))
    await check.rejects(prompt(ctx, 'nothing', question))

    // cancelling pauses a session, and it goes on
    const before = sent.length
    const running = prompt(ctx, id, '/session minutes=10 And the sky?')
    while (!sent.slice(before).some((u) => u.sessionUpdate === 'agent_thought_chunk')) await new Promise((go) => setTimeout(go, 20))
    await ctx.notify(agent.session.cancel, { sessionId: id })
    check.equal((await running).stopReason, 'cancelled')
    await prompt(ctx, id, '/status')
    check.match(text(sent.slice(before), 'agent_message_chunk'), /is paused \(paused by the client\)/)
    const resumed = prompt(ctx, id, '/resume')
    await prompt(ctx, id, '/answer')
    check.equal((await resumed).stopReason, 'end_turn')
    await ctx.request(agent.session.close, { sessionId: id })
    await check.rejects(prompt(ctx, id, question))
  })
})
