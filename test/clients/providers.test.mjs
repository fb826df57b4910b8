// The AI SDK 7 with four providers, as programs use it: answers, tools, and errors that it can read.
import test from 'node:test'
import { generateText, streamText, embedMany, jsonSchema, tool, APICallError } from 'ai7'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createMistral } from '@ai-sdk/mistral'
import { answer, check, clean, question, token, url } from './check.mjs'

const at = { baseURL: `${url}/v1`, apiKey: token }
const openai = createOpenAI(at)
const compatible = createOpenAICompatible({ ...at, name: 'ponder' })
const providers = {
  'openai, responses': (id) => openai.responses(id),
  'openai, chat': (id) => openai.chat(id),
  'openai-compatible': (id) => compatible(id),
  anthropic: (id) => createAnthropic(at)(id),
  mistral: (id) => createMistral(at)(id),
}
const weather = tool({
  description: 'How warm it is in a city.',
  inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
})

// failure returns the error that a request ends with.
async function failure(f) {
  try {
    await f()
  } catch (e) {
    return e
  }
  throw new Error('it does not fail')
}

for (const [name, model] of Object.entries(providers)) {
  const it = (what, f) => test(`${name}: ${what}`, f)

  it('an answer', async () => {
    const out = await generateText({ model: model('ponder/chat'), prompt: question, maxRetries: 0 })
    check.equal(out.text, answer)
    check.equal(out.finishReason, 'stop')
    clean(out.text)
  })

  it('an answer as it comes', async () => {
    const out = streamText({ model: model('ponder/chat'), prompt: question, maxRetries: 0 })
    let text = ''
    for await (const piece of out.textStream) text += piece
    check.equal(text, answer)
  })

  it('tools', async () => {
    const out = await generateText({ model: model('ponder/chat'), prompt: 'What is the weather in Paris and Rome?', tools: { weather }, maxRetries: 0 })
    check.deepEqual(out.toolCalls.map((c) => c.input.city), ['Paris', 'Rome'])
    check.equal(out.finishReason, 'tool-calls')
  })

  it('an unknown model', async () => {
    const e = await failure(() => generateText({ model: model('nonsense'), prompt: question, maxRetries: 0 }))
    check.ok(APICallError.isInstance(e), String(e))
    check.equal(e.statusCode, 404)
    check.match(e.message, /nonsense/)
  })

  for (const [what, prompt, status, words] of [
    ['too long', 'Say too much, ' + name, 400, /prompt is too long/],
    ['limited', 'Say it too often, ' + name, 429, /rate limit/],
  ]) {
    it(`a request that is ${what}`, async () => {
      const e = await failure(() => generateText({ model: model('ponder/chat'), prompt, maxRetries: 0 }))
      check.ok(APICallError.isInstance(e), String(e))
      check.equal(e.statusCode, status)
      check.match(e.message, words)
      if (status === 429) check.match(e.responseHeaders['retry-after'], /^\d+$/)
      clean(e.responseBody)
    })

    it(`a stream that is ${what}`, async () => {
      let seen
      const out = streamText({ model: model('ponder/chat'), prompt: prompt + ', streamed', maxRetries: 0, onError: ({ error }) => (seen = error) })
      await out.consumeStream()
      // A stream has begun if the model had to wait. Then the error is a part of it.
      if (APICallError.isInstance(seen)) check.equal(seen.statusCode, status)
      else check.match(String(seen?.message ?? JSON.stringify(seen)), words)
    })
  }
}

test('short vectors', async () => {
  const { embeddings } = await embedMany({ model: openai.embedding('ponder/embed'), values: ['one', 'two'], providerOptions: { openai: { dimensions: 3 } }, maxRetries: 0 })
  check.deepEqual(embeddings.map((v) => v.length), [3, 3])
})
