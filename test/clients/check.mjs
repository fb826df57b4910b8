// What the scripts of all clients share: where the server is, and checks that are counted.
import assert from 'node:assert/strict'

export const url = process.env.PONDER_URL
export const token = process.env.PONDER_TOKEN ?? 'any'
if (!url) throw new Error('set PONDER_URL to the address of a server, such as http://127.0.0.1:8744')

let checks = 0
process.on('exit', () => console.log(`checks: ${checks}`))

// check is node:assert, and counts.
export const check = new Proxy(assert, {
  apply: (f, self, args) => (checks++, f(...args)),
  get: (of, name) => (typeof of[name] === 'function' ? (...args) => (checks++, of[name](...args)) : of[name]),
})

// texts that the simulated model answers with: see testdata/answers.jsonl
export const question = 'What is the capital of France?'
export const answer = 'The capital of France is Paris.'
export const thought = 'France is a country in Europe.'

// image is a picture of one pixel.
export const image = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// secrets are words of ours that no client may ever be sent.
const secrets = /run_finished|turn-\d+-\d+|You are Ponder|thr_[0-9A-Z]{26}|\bsk-[a-z0-9]/

// clean checks that nothing internal is in what was sent.
export function clean(sent) {
  checks++
  const found = secrets.exec(typeof sent === 'string' ? sent : JSON.stringify(sent))
  assert.equal(found, null, `sent: ${found?.[0]}`)
}
