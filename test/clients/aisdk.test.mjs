// The AI SDK's own transport and reader of UI messages, of three versions, as pages use them.
import test from 'node:test'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import * as ai7 from 'ai7'
import { answer, check, clean, question, thought, token, url } from './check.mjs'

const said = (id, text) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

for (const [name, ai] of [['ai 5', ai5], ['ai 6', ai6], ['ai 7', ai7]]) {
  const it = (what, f) => test(`${name}: ${what}`, f)
  let chats = 0
  const fresh = () => `${name.replace(' ', '')}-${process.pid}-${chats++}`
  const transport = (body) => new ai.DefaultChatTransport({ api: `${url}/ai/chat`, headers: { Authorization: `Bearer ${token}` }, body })

  // read reads a stream to its end as useChat does, and returns the message, and the chunks.
  async function read(stream) {
    const chunks = []
    const seen = stream.pipeThrough(new TransformStream({ transform(c, out) { chunks.push(c); clean(c); out.enqueue(c) } }))
    let message
    for await (const m of ai.readUIMessageStream({ stream: seen, terminateOnError: true })) message = m
    return { message, chunks }
  }
  const send = async (chatId, messages, body) => read(await transport(body).sendMessages({ trigger: 'submit-message', chatId, messages }))
  const text = (m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text).join('\n\n')
  const thoughts = (m) => m.parts.filter((p) => p.type === 'reasoning').map((p) => p.text.trim())

  it('a conversation', async () => {
    const chat = fresh()
    const first = await send(chat, [said('1', question)])
    check.equal(text(first.message), answer)
    check.deepEqual(thoughts(first.message), [thought])
    check.equal(first.chunks[0].type, 'start')
    check.equal(first.chunks.at(-1).type, 'finish')
    check.equal(first.chunks.at(-1).finishReason, 'stop')
    const second = await send(chat, [said('1', question), first.message, said('2', question)])
    check.equal(text(second.message), answer)
    check.notEqual(second.message.id, first.message.id)
  })

  it('research, with its sources', async () => {
    const { message, chunks } = await send(fresh(), [said('1', 'How deep is the sea, and why?')], { model: 'ponder/research' })
    check.ok(text(message).length > 0)
    const types = new Set(message.parts.map((p) => p.type))
    check.ok(types.has('data-deep-think-progress'), [...types].join(' '))
    check.equal(message.parts.filter((p) => p.type === 'data-deep-think-progress').length, 1, 'progress is one part, which changes')
    check.equal(chunks.at(-1).type, 'finish')
  })

  it('nothing to resume', async () => {
    check.equal(await transport().reconnectToStream({ chatId: fresh() }), null)
  })

  it('a stream that is taken up again', async () => {
    const chat = fresh()
    const running = transport({ model: 'ponder/session', reasoningEffort: 'none' })
    const whole = await running.sendMessages({ trigger: 'submit-message', chatId: chat, messages: [said('1', 'Why is the sea salty?')] })
    const reader = whole.getReader()
    for (let c = await reader.read(); !c.done && c.value.type !== 'data-ponder-thought'; c = await reader.read());
    await reader.cancel() // the page is closed; the thinking goes on
    const again = await transport().reconnectToStream({ chatId: chat })
    check.ok(again)
    const answerNow = await fetch(`${url}/ai/chat/${chat}/steer`, { method: 'POST', headers: { Authorization: `Bearer ${token}` }, body: '{"answerNow":true}' })
    check.equal(answerNow.status, 200)
    const { message, chunks } = await read(again)
    check.equal(chunks[0].type, 'start')
    check.ok(text(message).length > 0)
    check.ok(message.parts.some((p) => p.type === 'data-ponder-thought'))
  })

  it('stopping', async () => {
    const chat = fresh()
    const stream = await transport({ model: 'ponder/session' }).sendMessages({ trigger: 'submit-message', chatId: chat, messages: [said('1', 'Why is the sky blue?')] })
    const reader = stream.getReader()
    await reader.read()
    const res = await fetch(`${url}/ai/chat/${chat}/stop`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } })
    check.deepEqual(await res.json(), { stopped: true })
    let last
    for (let r = await reader.read(); !r.done; r = await reader.read()) last = r.value
    check.equal(last.type, 'abort')
  })

  it('what is wrong is said', async () => {
    await check.rejects(send(fresh(), [said('1', question)], { model: 'nonsense' }), /nonsense/)
  })
}
