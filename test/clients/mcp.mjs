// What the scripts of clients for the Model Context Protocol share: a model of a host.

// fill returns a value of a schema.
function fill(schema) {
  if (schema.enum) return schema.enum[0]
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== 'null') : schema.type
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([k, v]) => [k, fill(v)]))
    case 'array':
      return [fill(schema.items ?? {})]
    case 'number':
      return 0.5
    case 'integer':
      return 5
    case 'boolean':
      return true
  }
  return `Water takes in red light and scatters blue light (${Math.random()}).`
}

// think answers a prompt as a host's model would.
export function think(prompt) {
  const schema = prompt.split('and nothing else:\n')[1]
  return schema ? JSON.stringify(fill(JSON.parse(schema))) : 'Water takes in red light, and so the sea is blue.'
}

// sampled answers a request for a message as a host's model would.
export function sampled({ params }) {
  const text = [params.systemPrompt, ...params.messages.map((m) => m.content.text)].join('\n')
  return { role: 'assistant', model: 'theirs', content: { type: 'text', text: think(text) } }
}

// stepped thinks step by step until there is no more to think about, and returns what the
// last step has said, and how many there were.
export async function stepped(call, question, steps) {
  let { structuredContent: out } = await call('ponder_step', { question, steps })
  let n = 0
  for (; out.status === 'needs_answer' && n < 5 * steps; n++) {
    ;({ structuredContent: out } = await call('ponder_step', { session: out.session, step: out.step, answer: think(out.prompt) }))
  }
  return { out, n }
}
