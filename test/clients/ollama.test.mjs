// Ollama's own client for JavaScript.
import test from 'node:test'
import { Ollama } from 'ollama'
import { answer, check, clean, image, question, thought, token, url } from './check.mjs'

const client = new Ollama({ host: url, headers: { Authorization: `Bearer ${token}` } })
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'How warm it is in a city.', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}
const ask = (content, more) => ({ model: 'ponder/chat', messages: [{ role: 'user', content }], ...more })
const all = async (stream) => {
  const list = []
  for await (const c of stream) list.push(c)
  clean(list)
  return list
}

test('models', async () => {
  const { models } = await client.list()
  check.ok(models.some((m) => m.name === 'ponder/chat:latest'))
  check.ok(models.every((m) => m.digest.length === 64 && m.details.family))
  const shown = await client.show({ model: 'ponder/chat' })
  check.ok(shown.capabilities.includes('tools') && shown.capabilities.includes('thinking'))
  check.deepEqual((await client.ps()).models, [])
  check.match((await client.version()).version, /^\d+\.\d+\.\d+$/)
  await check.rejects(client.show({ model: 'nonsense' }), /not found/)
})

test('an answer', async () => {
  const out = await client.chat(ask(question))
  check.equal(out.message.content, answer)
  check.equal(out.message.thinking, thought)
  check.equal(out.message.role, 'assistant')
  check.equal(out.done_reason, 'stop')
  check.ok(out.done && out.prompt_eval_count > 0 && out.eval_count > 0 && out.total_duration > 0)
  check.ok(!Number.isNaN(Date.parse(out.created_at)))
  clean(out)
  check.equal((await client.chat(ask(question, { think: false }))).message.thinking, undefined)
})

test('an answer as it comes', async () => {
  const list = await all(await client.chat(ask(question, { stream: true, think: true })))
  check.equal(list.map((c) => c.message.content).join(''), answer)
  check.equal(list.map((c) => c.message.thinking ?? '').join('').trim(), thought)
  check.deepEqual(list.filter((c) => c.done).length, 1)
  check.ok(list.at(-1).done && list.length > 3)
})

test('a prompt', async () => {
  const out = await client.generate({ model: 'ponder/chat', prompt: question, system: 'Be brief.' })
  check.equal(out.response, answer)
  check.equal(out.thinking, thought)
  const list = await all(await client.generate({ model: 'ponder/chat', prompt: question, stream: true }))
  check.equal(list.map((c) => c.response).join(''), answer)
  check.equal((await client.generate({ model: 'ponder/chat', prompt: '' })).done_reason, 'load')
})

test('tools over two requests', async () => {
  const messages = [{ role: 'user', content: 'What is the weather in Paris and Rome?' }]
  const first = await client.chat({ model: 'ponder/chat', messages, tools: [weather] })
  check.deepEqual(first.message.tool_calls.map((c) => [c.function.name, c.function.arguments.city]), [['weather', 'Paris'], ['weather', 'Rome']])
  messages.push(first.message, { role: 'tool', tool_name: 'weather', content: 'it is 18 degrees' }, { role: 'tool', tool_name: 'weather', content: 'it is 24 degrees' })
  const second = await client.chat({ model: 'ponder/chat', messages, tools: [weather] })
  check.equal(second.message.content, 'Paris has 18 degrees, Rome has 24.')
  const list = await all(await client.chat(ask('What is the weather in Paris and Rome?', { tools: [weather], stream: true })))
  check.deepEqual(list.flatMap((c) => c.message.tool_calls ?? []).map((c) => c.function.arguments.city), ['Paris', 'Rome'])
})

test('an answer by a schema', async () => {
  const format = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'] }
  const out = await client.chat(ask('Give me a person as JSON.', { format }))
  check.deepEqual(JSON.parse(out.message.content), { name: 'Ada', age: 36 })
  check.equal(JSON.parse((await client.chat(ask('Give me a person as JSON.', { format: 'json' }))).message.content).name, 'Ada')
})

test('a picture', async () => {
  const bytes = Uint8Array.from(Buffer.from(image, 'base64'))
  const out = await client.chat({ model: 'ponder/chat', messages: [{ role: 'user', content: 'What is in this picture?', images: [bytes] }] })
  check.equal(out.message.content, 'It is a red pixel.')
})

test('a client that goes away', async () => {
  const mine = new Ollama({ host: url, headers: { Authorization: `Bearer ${token}` } })
  const stream = await mine.chat(ask('Tell me a long story for Ollama.', { stream: true }))
  setTimeout(() => stream.abort(), 20)
  await check.rejects(all(stream), /abort/i)
  check.equal((await client.chat(ask(question))).message.content, answer)
})

test('errors', async () => {
  const wrong = (more, status, what) => check.rejects(client.chat(ask(question, more)), (e) => {
    clean(e.message)
    return e.status_code === status && what.test(e.message)
  })
  await wrong({ model: 'nonsense' }, 404, /'nonsense' not found/)
  await wrong({ format: 'xml' }, 400, /format/)
  await wrong({ think: 'hardest' }, 400, /think/)
  await wrong({ messages: [{ role: 'nobody', content: 'x' }] }, 400, /role/)
  await wrong({ tools: [{ type: 'function', function: {} }] }, 400, /name/)
  const stranger = new Ollama({ host: url, headers: { Authorization: 'Bearer wrong' } })
  await check.rejects(stranger.list(), (e) => e.status_code === 401 && /token/.test(e.message))
  await check.rejects(client.pull({ model: 'llama3' }), /cannot change models/)
})

test('a model that fails', async () => {
  await check.rejects(client.chat(ask('Say a forbidden thing, Ollama.')), (e) => {
    clean(e.message)
    return /no answer/.test(e.message)
  })
  await check.rejects(async () => all(await client.chat(ask('Say a forbidden thing, Ollama.', { stream: true }))), /no answer/)
})

test('vectors', async () => {
  const { embeddings } = await client.embed({ model: 'ponder/embed', input: ['salt', 'sea'] })
  check.equal(embeddings.length, 2)
  const { embedding } = await client.embeddings({ model: 'ponder/embed', prompt: 'salt' })
  check.deepEqual(embedding, embeddings[0])
})
