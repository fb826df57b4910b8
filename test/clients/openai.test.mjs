// OpenAI's own client for JavaScript, of two versions: chat completions, models, embeddings.
import test from 'node:test'
import OpenAI6 from 'openai6'
import OpenAI7 from 'openai7'
import { answer, check, clean, image, question, thought, token, url } from './check.mjs'

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'How warm it is in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const degrees = { Paris: 'it is 18 degrees', Rome: 'it is 24 degrees' }
const ask = (content, more) => ({ model: 'ponder/chat', messages: [{ role: 'user', content }], ...more })

for (const [name, OpenAI] of [['openai 6', OpenAI6], ['openai 7', OpenAI7]]) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 })
  const it = (what, f) => test(`${name}: ${what}`, f)

  it('models', async () => {
    const names = []
    for await (const m of client.models.list()) names.push(m.id)
    check.ok(names.includes('ponder/chat') && names.includes('ponder/research') && names.includes('ponder/session'))
    check.equal((await client.models.retrieve('ponder/research')).id, 'ponder/research')
    await check.rejects(client.models.retrieve('nonsense'), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found')
  })

  it('an answer', async () => {
    const out = await client.chat.completions.create(ask(question))
    check.equal(out.choices[0].message.content, answer)
    check.equal(out.choices[0].message.reasoning_content, thought)
    check.equal(out.choices[0].finish_reason, 'stop')
    check.equal(out.model, 'ponder/chat')
    check.ok(out.usage.total_tokens > 0)
    check.match(out._request_id, /./)
    clean(out)
  })

  it('an answer as it comes', async () => {
    const stream = await client.chat.completions.create(ask(question, { stream: true, stream_options: { include_usage: true } }))
    let text = '', reasoning = '', chunks = 0, last
    for await (const c of stream) {
      chunks++
      clean(c)
      check.equal(c.object, 'chat.completion.chunk')
      text += c.choices[0]?.delta.content ?? ''
      reasoning += c.choices[0]?.delta.reasoning_content ?? ''
      last = c
    }
    check.equal(text, answer)
    check.equal(reasoning.trim(), thought)
    check.ok(chunks > 4, `${chunks} chunks`)
    check.deepEqual(last.choices, [])
    check.ok(last.usage.completion_tokens > 0)
  })

  it('the helper for streams', async () => {
    const heard = []
    const stream = client.chat.completions.stream(ask(question)).on('content', (delta) => heard.push(delta))
    check.equal(await stream.finalContent(), answer)
    check.equal(heard.join(''), answer)
    check.equal((await stream.finalChatCompletion()).choices[0].finish_reason, 'stop')
  })

  it('tools over two requests', async () => {
    const messages = [{ role: 'developer', content: 'Be brief.' }, { role: 'user', content: 'What is the weather in Paris and Rome?' }]
    const first = await client.chat.completions.create({ model: 'ponder/chat', messages, tools: [weather] })
    const { message, finish_reason } = first.choices[0]
    check.equal(finish_reason, 'tool_calls')
    check.deepEqual(message.tool_calls.map((c) => [c.type, c.function.name, JSON.parse(c.function.arguments).city]), [
      ['function', 'weather', 'Paris'], ['function', 'weather', 'Rome'],
    ])
    messages.push(message, ...message.tool_calls.map((c) => ({ role: 'tool', tool_call_id: c.id, content: degrees[JSON.parse(c.function.arguments).city] })))
    const second = await client.chat.completions.create({ model: 'ponder/chat', messages, tools: [weather] })
    check.equal(second.choices[0].message.content, 'Paris has 18 degrees, Rome has 24.')
    check.equal(second.choices[0].finish_reason, 'stop')
    clean([first, second])
  })

  it('tools that are streamed', async () => {
    const done = await client.chat.completions.stream(ask('What is the weather in Paris and Rome?', { tools: [weather] })).finalMessage()
    check.deepEqual(done.tool_calls.map((c) => JSON.parse(c.function.arguments).city), ['Paris', 'Rome'])
    check.equal(new Set(done.tool_calls.map((c) => c.id)).size, 2)
  })

  it('tools that the helper runs', async () => {
    const asked = []
    const fn = { ...weather.function, parse: JSON.parse, function: ({ city }) => (asked.push(city), degrees[city]) }
    const run = client.chat.completions.runTools(ask('What is the weather in Paris and Rome?', { tools: [{ type: 'function', function: fn }] }))
    check.equal(await run.finalContent(), 'Paris has 18 degrees, Rome has 24.')
    check.deepEqual(asked, ['Paris', 'Rome'])
  })

  it('an answer by a schema', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'], additionalProperties: false }
    const out = await client.chat.completions.parse(ask('Give me a person as JSON.', { response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } } }))
    check.deepEqual(JSON.parse(out.choices[0].message.content), { name: 'Ada', age: 36 })
    const free = await client.chat.completions.create(ask('Give me a person as JSON.', { response_format: { type: 'json_object' } }))
    check.equal(JSON.parse(free.choices[0].message.content).name, 'Ada')
  })

  it('a picture', async () => {
    const content = [{ type: 'text', text: 'What is in this picture?' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }]
    const out = await client.chat.completions.create(ask(content))
    check.equal(out.choices[0].message.content, 'It is a red pixel.')
  })

  it('a conversation that goes on', async () => {
    const first = `${question} I ask with ${name}.`
    const one = await client.chat.completions.create(ask(first))
    const messages = [{ role: 'user', content: first }, { role: 'assistant', content: answer }, { role: 'user', content: 'What is the population?' }]
    const two = await client.chat.completions.create({ model: 'ponder/chat', messages })
    check.equal(two.choices[0].message.content, 'Two million people live there.')
    check.equal(two.id.split('-')[1], one.id.split('-')[1], 'it is the same conversation')
  })

  it('a request that is sent again begins once', async () => {
    const options = { headers: { 'Idempotency-Key': `${name} ${Math.random()}` } }
    const [one, two] = await Promise.all([0, 1].map(() => client.chat.completions.create(ask(question), options)))
    check.equal(one.id, two.id)
    await check.rejects(client.chat.completions.create(ask('What is the population?'), options), OpenAI.UnprocessableEntityError)
  })

  it('a client that goes away', async () => {
    const stream = await client.chat.completions.create(ask(`Tell me a long story for ${name}.`, { stream: true }))
    for await (const _ of stream) break
    const gone = new AbortController()
    const waiting = client.chat.completions.create(ask(`Tell me a long story too, for ${name}.`), { signal: gone.signal })
    gone.abort()
    await check.rejects(waiting, OpenAI.APIUserAbortError)
    check.equal((await client.chat.completions.create(ask(question))).choices[0].message.content, answer)
  })

  it('errors', async () => {
    const wrong = (more, kind, of) => check.rejects(client.chat.completions.create(ask(question, more)), (e) => {
      clean(e.error)
      return e instanceof kind && (of === undefined || e.param === of) && typeof e.error.message === 'string'
    })
    await wrong({ n: 17 }, OpenAI.BadRequestError, 'n')
    await wrong({ model: 'nonsense' }, OpenAI.NotFoundError, 'model')
    await wrong({ model: 'openai/none-of-these/' + 'x'.repeat(500) }, OpenAI.APIError)
    await wrong({ messages: [] }, OpenAI.BadRequestError, 'messages')
    await wrong({ messages: 'hello' }, OpenAI.BadRequestError, 'messages')
    await wrong({ reasoning_effort: 'hardest' }, OpenAI.BadRequestError, 'reasoning_effort')
    await wrong({ tools: [{ type: 'function', function: {} }] }, OpenAI.BadRequestError, 'tools')
    const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await check.rejects(stranger.models.list(), (e) => e instanceof OpenAI.AuthenticationError && e.code === 'invalid_api_key')
    await check.rejects(stranger.chat.completions.create(ask(question)), OpenAI.AuthenticationError)
  })

  it('a model that fails', async () => {
    const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 2 })
    const forbidden = ask(`Say a forbidden thing, ${name}.`)
    const began = Date.now()
    await check.rejects(patient.chat.completions.create(forbidden), (e) => {
      clean(e.error)
      return e instanceof OpenAI.BadRequestError && e.type === 'invalid_request_error'
    })
    check.ok(Date.now() - began < 20_000, 'it is not tried again and again')
    await check.rejects(client.chat.completions.create({ ...forbidden, stream: true }), OpenAI.BadRequestError)
  })

  it('vectors', async () => {
    const out = await client.embeddings.create({ model: 'ponder/embed', input: ['salt', 'sea', 'salt'] })
    check.equal(out.data.length, 3)
    check.ok(out.data[0].embedding.length > 1 && Number.isFinite(out.data[0].embedding[0]))
    check.deepEqual(out.data[0].embedding, out.data[2].embedding)
    const plain = await client.embeddings.create({ model: 'ponder/embed', input: 'salt', encoding_format: 'float' })
    check.ok(Math.abs(plain.data[0].embedding[0] - out.data[0].embedding[0]) < 1e-6)
    await check.rejects(client.embeddings.create({ model: 'ponder/embed', input: [] }), OpenAI.BadRequestError)
  })

  it('research', async () => {
    const stream = await client.chat.completions.create({ model: 'ponder/research', reasoning_effort: 'minimal', messages: [{ role: 'user', content: `Why do large projects run late, ${name}?` }], stream: true })
    let text = '', reasoning = '', finish
    for await (const c of stream) {
      clean(c)
      text += c.choices[0]?.delta.content ?? ''
      reasoning += c.choices[0]?.delta.reasoning_content ?? ''
      finish = c.choices[0]?.finish_reason ?? finish
    }
    check.ok(text.length > 20, 'there is a report')
    check.ok(reasoning.length > 20, 'and how it came about')
    check.ok(['stop', 'length'].includes(finish), finish)
  })

  it('Open WebUI', async () => {
    const webui = new OpenAI({ baseURL: `${url}/openwebui/v1`, apiKey: token, maxRetries: 0, defaultHeaders: { 'X-OpenWebUI-Chat-Id': `chat of ${name}` } })
    const one = await webui.chat.completions.create(ask(question))
    const two = await webui.chat.completions.create(ask('What is the population?'))
    check.equal(two.id.split('-')[1], one.id.split('-')[1], 'it is the same conversation')
  })
}
