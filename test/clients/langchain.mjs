// LangChain for JavaScript over three protocols: answers, streams, tools, errors and vectors.
import test from 'node:test'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOllama } from '@langchain/ollama'
import { tool } from '@langchain/core/tools'
import { z } from 'zod'
import { check, clean, question, answer, token, url } from './check.mjs'

const configuration = { baseURL: `${url}/v1` }
const openai = (more = {}) => new ChatOpenAI({ model: 'ponder/chat', apiKey: token, configuration, maxRetries: 0, ...more })
const models = {
  'chat completions': openai(),
  responses: openai({ useResponsesApi: true }),
  messages: new ChatAnthropic({ model: 'ponder/chat', apiKey: token, anthropicApiUrl: url, maxTokens: 2000, maxRetries: 0 }),
  ollama: new ChatOllama({ model: 'ponder/chat', baseUrl: url, headers: { Authorization: `Bearer ${token}` }, maxRetries: 0 }),
}
const degrees = { Paris: 'it is 18 degrees', Rome: 'it is 24 degrees' }
const weather = tool(({ city }) => degrees[city], { name: 'weather', description: 'how warm it is', schema: z.object({ city: z.string() }) })
const person = z.object({ name: z.string(), age: z.number() })

for (const [name, model] of Object.entries(models)) {
  test(name, async () => {
    const said = await model.invoke(question)
    check.equal(said.text, answer)
    check.ok(said.usage_metadata.total_tokens > 0)
    clean(said)

    let text = ''
    let pieces = 0
    for await (const piece of await model.stream(question)) {
      text += piece.text
      pieces++
    }
    check.equal(text, answer)
    check.ok(pieces > 1)

    const withTools = model.bindTools([weather])
    const messages = [{ role: 'user', content: 'What is the weather in Paris and Rome?' }]
    const asked = await withTools.invoke(messages)
    check.deepEqual(asked.tool_calls.map((c) => c.args.city), ['Paris', 'Rome'])
    const results = await Promise.all(asked.tool_calls.map((c) => weather.invoke(c)))
    check.equal((await withTools.invoke([...messages, asked, ...results])).text, 'Paris has 18 degrees, Rome has 24.')

    check.deepEqual(await model.withStructuredOutput(person, { method: 'jsonSchema', name: 'person' }).invoke('Give me a person as JSON.'), { name: 'Ada', age: 36 })

    await check.rejects(model.invoke(`Say too much, LangChain ${name}.`), (err) => {
      clean(String(err))
      return name === 'ollama' || err.name === 'ContextOverflowError' || /too long|context/i.test(String(err))
    })
  })
}

test('vectors', async () => {
  const embeddings = new OpenAIEmbeddings({ model: 'ponder/embed', apiKey: token, configuration, dimensions: 4, maxRetries: 0 })
  check.deepEqual((await embeddings.embedDocuments(['one', 'two'])).map((v) => v.length), [4, 4])
})
