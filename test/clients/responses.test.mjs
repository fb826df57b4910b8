// OpenAI's own client for JavaScript, of two versions: responses, conversations, webhooks and
// the WebSocket mode.
import http from 'node:http'
import test from 'node:test'
import OpenAI6 from 'openai6'
import OpenAI7 from 'openai7'
import { ResponsesWS } from 'openai7/resources/responses/ws'
import { Webhook } from 'standardwebhooks'
import { answer, check, clean, question, thought, token, url } from './check.mjs'

const tools = [{ type: 'function', name: 'weather', description: 'How warm it is in a city.', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
const story = { model: 'ponder/chat', input: 'Tell me a long story.', tools }

for (const [name, OpenAI] of [['openai 6', OpenAI6], ['openai 7', OpenAI7]]) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 })
  const it = (what, f) => test(`${name}: ${what}`, f)

  it('a response, and what goes on behind it', async () => {
    const out = await client.responses.create({ model: 'ponder/chat', input: question, metadata: { a: 'b' } })
    check.equal(out.status, 'completed')
    check.equal(out.output_text, answer)
    check.equal(out.output.find((i) => i.type === 'reasoning').summary[0].text, thought)
    check.equal(out.output.find((i) => i.type === 'message').phase, 'final_answer')
    check.deepEqual(out.metadata, { a: 'b' })
    check.ok(out.usage.total_tokens > 0)
    check.match(out._request_id, /./)
    clean(out)
    const next = await client.responses.create({ model: 'ponder/chat', input: 'And its population?', previous_response_id: out.id })
    check.equal(next.output_text, 'Two million people live there.')
    check.equal(next.previous_response_id, out.id)
    const items = []
    for await (const i of client.responses.inputItems.list(out.id)) items.push(i)
    check.equal(items[0].content[0].text, question)
    check.deepEqual((await client.responses.retrieve(out.id)).output, out.output)
  })

  it('tools of the client', async () => {
    const input = 'What is the weather in Paris?'
    const out = await client.responses.create({ model: 'ponder/chat', input, tools })
    const call = out.output.find((i) => i.type === 'function_call')
    check.equal(call.name, 'weather')
    check.equal(JSON.parse(call.arguments).city, 'Paris')
    const next = await client.responses.create({
      model: 'ponder/chat', tools, previous_response_id: out.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'it is 18 degrees' }],
    })
    check.equal(next.output_text, 'Paris has 18 degrees, Rome has 24.')
  })

  it('a stream that strict clients take, and that is taken up at any place', async () => {
    for (const body of [{ model: 'ponder/chat', input: question }, { ...story }, { model: 'ponder/research', input: question, reasoning: { effort: 'none' } }]) {
      const stream = client.responses.stream({ ...body, background: true })
      const seen = []
      for await (const e of stream) seen.push(e)
      const end = await stream.finalResponse()
      check.equal(end.status, 'completed')
      check.equal(seen.filter((e) => e.type === 'response.output_text.delta' && end.output[e.output_index].phase === 'final_answer').map((e) => e.delta).join(''), end.output_text)
      clean(seen)
      const numbers = []
      for await (const e of client.responses.stream({ response_id: end.id })) numbers.push(e.sequence_number)
      check.deepEqual(numbers, seen.map((e) => e.sequence_number))
      for (const after of [0, 3, seen.length - 2, seen.length + 5]) {
        const rest = []
        for await (const e of await client.responses.retrieve(end.id, { stream: true, starting_after: after })) rest.push(e)
        check.deepEqual(rest, JSON.parse(JSON.stringify(await whole(client, end.id))).slice(after + 1))
      }
    }
  })

  it('the background: poll, cancel, delete', async () => {
    let out = await client.responses.create({ model: 'ponder/chat', input: question, background: true })
    check.ok(['queued', 'in_progress', 'completed'].includes(out.status))
    while (['queued', 'in_progress'].includes(out.status)) out = await client.responses.retrieve(out.id)
    check.equal(out.output_text, answer)
    const long = await client.responses.create({ model: 'ponder/session', input: question, background: true })
    check.equal((await client.responses.cancel(long.id)).status, 'cancelled')
    check.equal((await client.responses.retrieve(long.id)).status, 'cancelled')
    for (const id of [out.id, long.id]) {
      await client.responses.delete(id)
      await check.rejects(client.responses.retrieve(id), OpenAI.NotFoundError)
    }
  })

  it('refusals', async () => {
    const wrong = (body, param) => check.rejects(client.responses.create({ model: 'ponder/chat', input: 'x', ...body }), (e) => e instanceof OpenAI.BadRequestError && e.param === param)
    await wrong({ background: true, store: false }, 'store')
    await wrong({ previous_response_id: 'resp_nothing' }, 'previous_response_id')
    await wrong({ metadata: { k: 'v'.repeat(513) } }, 'metadata')
    await check.rejects(client.responses.stream({ model: 'ponder/chat', input: 'Say a forbidden thing.', tools }).finalResponse(), (e) => (clean(e.message), true))
  })

  it('conversations', async () => {
    const c = await client.conversations.create({ metadata: { a: 'b' }, items: [{ type: 'message', role: 'user', content: 'I ask of France.' }] })
    const out = await client.responses.create({ model: 'ponder/chat', input: question, conversation: c.id })
    check.equal(out.conversation.id, c.id)
    const texts = []
    for await (const i of client.conversations.items.list(c.id, { order: 'asc' })) if (i.type === 'message') texts.push(i.content[0].text)
    check.deepEqual(texts, ['I ask of France.', question, answer])
    check.deepEqual((await client.conversations.update(c.id, { metadata: { c: 'd' } })).metadata, { c: 'd' })
    const more = await client.conversations.items.create(c.id, { items: [{ type: 'message', role: 'user', content: 'more' }] })
    check.equal((await client.conversations.items.retrieve(more.data[0].id, { conversation_id: c.id })).content[0].text, 'more')
    await client.conversations.items.delete(more.data[0].id, { conversation_id: c.id })
    await check.rejects(client.conversations.items.retrieve(more.data[0].id, { conversation_id: c.id }), OpenAI.NotFoundError)
    check.equal((await client.conversations.delete(c.id)).deleted, true)
    await check.rejects(client.conversations.retrieve(c.id), OpenAI.NotFoundError)
  })
}

// whole returns all events of a response.
async function whole(client, id) {
  const list = []
  for await (const e of await client.responses.retrieve(id, { stream: true })) list.push(e)
  return list
}

const client = new OpenAI7({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 })

test('openai 7: compaction and tokens', async () => {
  const c = await client.responses.compact({ model: 'ponder/chat', input: [{ role: 'user', content: question }] })
  check.equal(c.object, 'response.compaction')
  check.equal(c.output.at(-1).type, 'compaction')
  const out = await client.responses.create({ model: 'ponder/chat', input: [...c.output, { role: 'user', content: 'And its population?' }] })
  check.equal(out.output_text, 'Two million people live there.')
  check.ok((await client.responses.inputTokens.count({ model: 'ponder/chat', input: question })).input_tokens > 3)
})

test('openai 7, standardwebhooks: webhooks', async () => {
  let arrived
  const told = new Promise((resolve) => (arrived = resolve))
  const server = http.createServer((req, res) => {
    let body = ''
    req.on('data', (d) => (body += d)).on('end', () => {
      res.writeHead(204).end()
      arrived({ body, headers: req.headers })
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hook = await client.webhooks.create({ name: 'mine', url: `http://127.0.0.1:${server.address().port}/`, event_types: ['response.completed'] })
  const out = await client.responses.create({ model: 'ponder/chat', input: question, background: true })
  const { body, headers } = await told
  const ev = await client.webhooks.unwrap(body, headers, hook.signing_secret)
  check.equal(ev.type, 'response.completed')
  check.equal(ev.data.id, out.id)
  check.deepEqual(new Webhook(hook.signing_secret).verify(body, headers), ev)
  check.throws(() => new Webhook(hook.signing_secret).verify(body.replace('completed', 'cancelled'), headers))
  const listed = []
  for await (const w of client.webhooks.list()) listed.push(w.id)
  check.ok(listed.includes(hook.id))
  check.equal((await client.webhooks.delete(hook.id)).deleted, true)
  server.close()
})

test('openai 7: the WebSocket mode, and what steers', async () => {
  const ws = new ResponsesWS(client)
  const seen = []
  let steered = false
  const done = new Promise((resolve, reject) => {
    ws.on('error', reject)
    ws.on('event', (e) => {
      seen.push(e)
      if (e.type === 'response.output_text.delta' && !steered) {
        steered = true
        ws.send({ type: 'response.steer', previous_response_id: seen[0].response.id, input: question })
      }
      if (e.type === 'response.completed') resolve(e.response)
    })
  })
  ws.send({ type: 'response.create', ...story })
  const end = await done
  ws.close()
  const first = seen.find((e) => e.type === 'response.incomplete').response
  check.equal(first.incomplete_details.reason, 'steered')
  check.ok(seen.some((e) => e.type === 'response.steer.accepted'))
  check.equal(end.previous_response_id, first.id)
  check.equal(end.output.find((i) => i.type === 'message').content[0].text, answer)
})
