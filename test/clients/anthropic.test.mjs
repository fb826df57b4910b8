// Anthropic's own client for JavaScript.
import test from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { answer, check, clean, image, question, thought, token, url } from './check.mjs'

const client = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 })
const weather = {
  name: 'weather',
  description: 'How warm it is in a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const ask = (content, more) => ({ model: 'ponder/chat', max_tokens: 2000, messages: [{ role: 'user', content }], ...more })

test('models', async () => {
  const names = []
  for await (const m of client.models.list()) names.push(m.id)
  check.ok(names.includes('ponder/chat'))
  check.equal((await client.models.retrieve('ponder/chat')).type, 'model')
})

test('an answer', async () => {
  const out = await client.messages.create(ask(question, { system: 'Be brief.' }))
  check.deepEqual(out.content.map((b) => b.type), ['thinking', 'text'])
  check.equal(out.content[0].thinking, thought)
  check.ok(out.content[0].signature)
  check.equal(out.content[1].text, answer)
  check.equal(out.stop_reason, 'end_turn')
  check.ok(out.usage.input_tokens > 0 && out.usage.output_tokens > 0)
  check.match(out._request_id, /^req_/)
  clean(out)
})

test('an answer as it comes', async () => {
  const stream = await client.messages.create(ask(question, { stream: true }))
  const types = new Set()
  let text = '', thinking = '', last
  for await (const e of stream) {
    clean(e)
    types.add(e.type)
    if (e.delta?.type === 'text_delta') text += e.delta.text
    if (e.delta?.type === 'thinking_delta') thinking += e.delta.thinking
    if (e.type === 'message_delta') last = e
  }
  check.equal(text, answer)
  check.equal(thinking.trim(), thought)
  check.equal(last.delta.stop_reason, 'end_turn')
  check.ok(last.usage.output_tokens > 0)
  for (const t of ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop']) check.ok(types.has(t), t)
})

test('the helper for streams', async () => {
  const heard = []
  const stream = client.messages.stream(ask(question)).on('text', (delta) => heard.push(delta))
  const done = await stream.finalMessage()
  check.equal(heard.join(''), answer)
  check.deepEqual(done.content.map((b) => b.type), ['thinking', 'text'])
  check.ok(done.usage.output_tokens > 0)
})

test('tools over two requests', async () => {
  const messages = [{ role: 'user', content: 'What is the weather in Paris and Rome?' }]
  const first = await client.messages.create({ model: 'ponder/chat', max_tokens: 2000, messages, tools: [weather] })
  check.equal(first.stop_reason, 'tool_use')
  const calls = first.content.filter((b) => b.type === 'tool_use')
  check.deepEqual(calls.map((c) => [c.name, c.input.city]), [['weather', 'Paris'], ['weather', 'Rome']])
  messages.push({ role: 'assistant', content: first.content }, {
    role: 'user',
    content: calls.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: [{ type: 'text', text: c.input.city === 'Paris' ? 'it is 18 degrees' : 'it is 24 degrees' }] })),
  })
  const second = await client.messages.create({ model: 'ponder/chat', max_tokens: 2000, messages, tools: [weather] })
  check.equal(second.content.find((b) => b.type === 'text').text, 'Paris has 18 degrees, Rome has 24.')
  check.equal(second.stop_reason, 'end_turn')
})

test('tools that are streamed', async () => {
  const done = await client.messages.stream(ask('What is the weather in Paris and Rome?', { tools: [weather] })).finalMessage()
  check.deepEqual(done.content.filter((b) => b.type === 'tool_use').map((b) => b.input.city), ['Paris', 'Rome'])
})

test('an answer by a schema', async () => {
  const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'], additionalProperties: false }
  const out = await client.messages.create(ask('Give me a person as JSON.', { output_config: { format: { type: 'json_schema', schema } } }))
  check.deepEqual(JSON.parse(out.content.find((b) => b.type === 'text').text), { name: 'Ada', age: 36 })
})

test('a picture', async () => {
  const out = await client.messages.create(ask([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }, { type: 'text', text: 'What is in this picture?' }]))
  check.equal(out.content.find((b) => b.type === 'text').text, 'It is a red pixel.')
})

test('a conversation that goes on', async () => {
  const first = `${question} I ask with the Messages API.`
  const one = await client.messages.create(ask(first))
  const messages = [{ role: 'user', content: first }, { role: 'assistant', content: one.content }, { role: 'user', content: 'What is the population?' }]
  const two = await client.messages.create({ model: 'ponder/chat', max_tokens: 2000, messages })
  check.equal(two.content.find((b) => b.type === 'text').text, 'Two million people live there.')
  check.equal(two.id.split('-')[0], one.id.split('-')[0], 'it is the same conversation')
})

test('tokens', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: 'ponder/chat', messages: [{ role: 'user', content: question }] })
  check.ok(input_tokens >= 5 && input_tokens < 50, `${input_tokens}`)
})

test('a client that goes away', async () => {
  const stream = client.messages.stream(ask('Tell me a long story for Anthropic.'))
  stream.once('connect', () => stream.abort())
  await check.rejects(stream.finalMessage(), Anthropic.APIUserAbortError)
  check.ok((await client.messages.create(ask(question))).content.length)
})

test('errors', async () => {
  const wrong = (more, kind, type) => check.rejects(client.messages.create(ask(question, more)), (e) => {
    clean(e.error)
    return e instanceof kind && e.error.error.type === type && e.error.type === 'error' && e.requestID?.startsWith('req_')
  })
  await wrong({ model: 'nonsense' }, Anthropic.NotFoundError, 'not_found_error')
  await wrong({ max_tokens: 0 }, Anthropic.BadRequestError, 'invalid_request_error')
  await wrong({ max_tokens: undefined }, Anthropic.BadRequestError, 'invalid_request_error')
  await wrong({ messages: [] }, Anthropic.BadRequestError, 'invalid_request_error')
  await wrong({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x' }] }] }, Anthropic.BadRequestError, 'invalid_request_error')
  const stranger = new Anthropic({ baseURL: url, apiKey: 'wrong', maxRetries: 0 })
  await check.rejects(stranger.messages.create(ask(question)), (e) => e instanceof Anthropic.AuthenticationError && e.error.error.type === 'authentication_error')
})

test('a model that fails', async () => {
  const patient = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 2 })
  await check.rejects(patient.messages.create(ask('Say a forbidden thing, Claude.')), (e) => {
    clean(e.error)
    return e instanceof Anthropic.BadRequestError && e.error.error.type === 'invalid_request_error'
  })
  const stream = client.messages.stream(ask('Say a forbidden thing, Claude.'))
  await check.rejects(stream.finalMessage(), /no answer/)
})

test('a message thread', async () => {
  const thread = client.beta.messages.thread({ model: 'ponder/chat', max_tokens: 2000, system: 'Be brief.' })
  check.equal((await thread.send({ role: 'user', content: question })).content.at(-1).text, answer)
  check.equal((await thread.send({ role: 'user', content: 'And the population?' })).content.at(-1).text, 'Two million people live there.')
  const stream = thread.stream({ role: 'user', content: question })
  check.equal((await stream.finalMessage()).content.at(-1).text, answer)
  await check.rejects(
    client.beta.messages.create({ ...ask(question), betas: ['message-threads-2026-08-12'], thread: { type: 'continue', previous_message_id: 'msg_unknown' } }),
    (e) => e instanceof Anthropic.NotFoundError && e.errorCode === 'thread_not_found',
  )
})

test('the tool runner, which uses a thread', async () => {
  const cities = []
  const run = async ({ city }) => {
    cities.push(city)
    return { Paris: 'it is 18 degrees', Rome: 'it is 24 degrees' }[city]
  }
  const bodies = []
  const seen = new Anthropic({
    baseURL: url, apiKey: token, maxRetries: 0,
    fetch: (at, init) => { bodies.push(JSON.parse(init.body)); return fetch(at, init) },
  })
  const out = await seen.beta.messages.toolRunner({
    ...ask('What is the weather in Paris and Rome?'),
    tools: [{ ...weather, run, parse: (x) => x }],
  })
  check.deepEqual(cities.sort(), ['Paris', 'Rome'])
  check.equal(out.content.at(-1).text, 'Paris has 18 degrees, Rome has 24.')
  check.deepEqual(bodies.map((b) => b.thread?.type), ['create', 'continue'])
  check.equal(bodies[1].messages.length, 1)
})

test('failures that the SDK classifies', async () => {
  await check.rejects(client.messages.create(ask('Say too much, Claude.')), (e) => e instanceof Anthropic.BadRequestError && /prompt is too long/.test(e.message))
  for (const stream of [false, true]) {
    const asked = async () => {
      const out = await client.messages.create(ask(`Say it too often, Claude ${stream}.`, { stream }))
      if (stream) for await (const _ of out); // it has begun if the model had to wait
    }
    await check.rejects(asked, (e) => {
      const early = e instanceof Anthropic.RateLimitError && /^\d+$/.test(e.headers.get('retry-after'))
      return e.type === 'rate_limit_error' && (early || stream)
    })
  }
})
