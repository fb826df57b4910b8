// The official clients of the Model Context Protocol, of both of its eras, over HTTP.
import test from 'node:test'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { check, clean, token, url } from './check.mjs'
import { stepped } from './mcp.mjs'

const info = { name: 'test', version: '1.0.0' }
const at = new URL('/mcp', url)
const headers = { requestInit: { headers: { Authorization: `Bearer ${token}` } } }
const patient = { timeout: 300_000, resetTimeoutOnProgress: true }

const clients = {
  'sdk 1': async () => {
    const c = new Client1(info)
    await c.connect(new Transport1(at, headers))
    return { c, call: (name, args, options) => c.callTool({ name, arguments: args }, undefined, { ...patient, ...options }) }
  },
  'client 2, before': async () => {
    const c = new Client2(info)
    await c.connect(new Transport2(at, headers))
    return { c, call: (name, args, options) => c.callTool({ name, arguments: args }, { ...patient, ...options }) }
  },
  'client 2, 2026-07-28': async () => {
    const c = new Client2(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await c.connect(new Transport2(at, headers))
    return { c, call: (name, args, options) => c.callTool({ name, arguments: args }, { ...patient, ...options }) }
  },
}

for (const [name, connect] of Object.entries(clients)) {
  test(name, async (t) => {
    const { c, call } = await connect()
    t.after(() => c.close())

    await t.test('lists', async () => {
      const { tools } = await c.listTools()
      for (const tool of ['ponder_think', 'ponder_deep_think', 'ponder_research', 'ponder_step', 'ponder_session', 'ponder_steer', 'ponder_recall', 'ponder_remember', 'ponder_mind']) {
        check.ok(tools.some((one) => one.name === tool && one.outputSchema && one.description), tool)
      }
      check.ok((await c.listPrompts()).prompts.some((p) => p.name === 'deep_think'))
      check.equal((await c.listResourceTemplates()).resourceTemplates.length, 3)
      check.ok((await c.listResources()).resources.some((r) => r.uri === 'ponder://subconscious.json'))
      const { messages } = await c.getPrompt({ name: 'deep_think', arguments: { question: 'Why is the sea blue?' } })
      check.match(messages[0].content.text, /ponder_step/)
    })

    await t.test('memory', async () => {
      const kept = await call('ponder_remember', { text: 'The sea is deep and salty.' })
      check.ok(!kept.isError && kept.structuredContent.id)
      const found = await call('ponder_recall', { query: 'How deep is the sea?' })
      check.ok(!found.isError && Array.isArray(found.structuredContent.hits))
    })

    await t.test('step by step', async () => {
      const { out, n } = await stepped(call, 'Why is the sea blue?', 4)
      clean(out.answer ?? '')
      check.equal(out.status, 'completed')
      check.ok(out.answer && n >= 2)
      const report = await c.readResource({ uri: `ponder://sessions/${out.session}/report` })
      check.match(report.contents[0].text, /Why is the sea blue/)
    })

    await t.test('progress', async () => {
      let last = 0
      const out = await call('ponder_think', { question: 'Why is the sea blue?', max_calls: 3 }, {
        onprogress: (p) => {
          check.ok(p.progress > last)
          last = p.progress
        },
      })
      check.equal(out.structuredContent.status, 'completed')
      check.ok(last > 0)
    })

    await t.test('what is wrong', async () => {
      check.ok((await call('ponder_think', { question: 'Why?', effort: 'endless' })).isError)
      check.ok((await call('ponder_session', { action: 'status', session: 'nothing' })).isError)
      await check.rejects(c.readResource({ uri: 'ponder://sessions/nothing' }))
    })
  })
}
