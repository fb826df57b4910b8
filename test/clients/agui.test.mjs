// The official client of the AG-UI protocol, which CopilotKit uses. It checks the order of events itself.
import test from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { check, clean, question, answer, url, token } from './check.mjs'

const headers = { Authorization: `Bearer ${token}` }
const newAgent = (threadId) => new HttpAgent({ url: `${url}/agui`, headers, threadId })
const ask = (content) => ({ id: `m${Math.random()}`, role: 'user', content })

// run runs an agent and returns its events.
async function run(agent, input = {}) {
  const events = []
  await agent.runAgent({ forwardedProps: {}, ...input }, { onEvent: ({ event }) => void events.push(event) })
  clean(events)
  return events
}
const types = (events) => events.map((e) => e.type)
const last = (events) => events[events.length - 1]

test('a conversation', async () => {
  const agent = newAgent('a page')
  agent.addMessage(ask(question))
  const first = await run(agent)
  check.equal(last(first).type, 'RUN_FINISHED')
  check.equal(last(first).outcome.type, 'success')
  check.equal(agent.messages.at(-1).content, answer)
  check.equal(agent.state.way, 'think')
  agent.addMessage(ask(question))
  await run(agent)
  check.equal(agent.messages.at(-1).content, answer)
  check.ok(agent.state.session.includes('-'))
})

test('a session, live on two pages', async () => {
  const agent = newAgent('a session')
  agent.addMessage(ask('Why is the sea blue?'))
  let session
  const shown = new Promise((done) => {
    agent.subscribe({ onStateChanged: ({ state }) => state.session && done((session = state.session)) })
  })
  const running = run(agent, { forwardedProps: { way: 'session', minutes: 10 } })
  await shown
  const watching = run(newAgent('another page'), { forwardedProps: { session } })
  const steer = async (command) => {
    const page = newAgent('a remote control')
    const events = await run(page, { forwardedProps: { session, command } })
    check.equal(last(events).outcome.type, 'success')
    return page.messages.at(-1).content
  }
  check.equal(await steer('/question Which sea is the bluest?'), 'The question is added.')
  check.match(await steer('/status'), /is thinking/)
  await steer('/pause')
  const events = await running
  check.equal(last(events).outcome.type, 'interrupt')
  check.equal(agent.state.status, 'paused')
  check.ok(types(events).includes('STATE_DELTA'))
  check.equal(last(await watching).outcome.type, 'interrupt')

  const { id } = last(events).outcome.interrupts[0]
  const follows = new Promise((done) => agent.subscribe({ onStateSnapshotEvent: () => done() }))
  const resumed = run(agent, { resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }] })
  await follows
  await steer('/answer')
  check.equal(last(await resumed).outcome.type, 'success')
  check.equal(agent.state.status, 'completed')
})

test('the subconscious, and mistakes', async () => {
  const agent = newAgent('a mind')
  agent.addMessage(ask('What is on your mind?'))
  await run(agent, { forwardedProps: { way: 'subconscious' } })
  check.ok(agent.state.subconscious && agent.messages.at(-1).content)
  for (const forwardedProps of [{ way: 'guess' }, { session: 'nothing' }, { minutes: -1 }]) {
    const wrong = newAgent('a mistake')
    wrong.addMessage(ask(question))
    await check.rejects(run(wrong, { forwardedProps }))
  }
})
