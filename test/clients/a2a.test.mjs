// The official client of the Agent2Agent protocol, over both of its HTTP bindings.
import test from 'node:test'
import http from 'node:http'
import { randomUUID } from 'node:crypto'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import { Role, TaskState } from '@a2a-js/sdk'
import { check, clean, question, answer, url, token } from './check.mjs'

const withToken = (input, init = {}) => fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${token}` } })

const clients = { JSONRPC: JsonRpcTransportFactory, 'HTTP+JSON': RestTransportFactory }

const request = (text, more = {}, configuration) => ({
  tenant: '',
  message: { messageId: randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, parts: [{ content: { $case: 'text', value: text }, filename: '', mediaType: '' }], extensions: [], referenceTaskIds: [], ...more },
  configuration,
})
const textOf = (parts) => parts.map((p) => (p.content.$case === 'text' ? p.content.value : '')).join('')
const answerOf = (task) => textOf(task.artifacts[0].parts)
const configuration = (more) => ({ acceptedOutputModes: [], returnImmediately: false, ...more })

for (const [name, Transport] of Object.entries(clients)) {
  test(name, async () => {
    const factory = new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new Transport({ fetchImpl: withToken })],
        cardResolver: new DefaultAgentCardResolver({ fetchImpl: withToken }),
        preferredTransports: [name],
      }),
    )
    const client = await factory.createFromUrl(url)
    const card = await client.getAgentCard()
    check.deepEqual(card.skills.map((s) => s.id), ['think', 'deep_think', 'research', 'session', 'subconscious'])

    const sent = request(question)
    const task = await client.sendMessage(sent)
    check.equal(task.status.state, TaskState.TASK_STATE_COMPLETED)
    check.equal(answerOf(task), answer)
    clean(task)
    check.equal((await client.sendMessage(sent)).id, task.id) // a retry

    let text = ''
    let last
    for await (const { payload: event } of client.sendMessageStream(request(question, { contextId: task.contextId }))) {
      clean(event)
      if (event.$case === 'artifactUpdate') text = (event.value.append ? text : '') + textOf(event.value.artifact.parts)
      if (event.$case === 'statusUpdate') last = event.value.status.state
      if (event.$case === 'task') check.equal(event.value.contextId, task.contextId)
    }
    check.equal(text, answer)
    check.equal(last, TaskState.TASK_STATE_COMPLETED)

    // a session in the background: steered, paused, continued, and cancelled
    const running = await client.sendMessage(request('/session minutes=10 Why is the sea blue?', {}, configuration({ returnImmediately: true })))
    check.equal(running.status.state, TaskState.TASK_STATE_WORKING)
    const say = (words) => client.sendMessage(request(words, { taskId: running.id }, configuration({ returnImmediately: true })))
    await say('Which sea is the bluest?')
    check.equal((await say('/pause')).status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
    check.equal((await say('/resume')).status.state, TaskState.TASK_STATE_WORKING)
    const seen = []
    for await (const { payload: event } of client.resubscribeTask({ id: running.id, tenant: '' })) {
      seen.push(event)
      if (event.$case === 'statusUpdate') break
    }
    check.equal(seen[0].$case, 'task')
    check.equal((await client.cancelTask({ id: running.id, tenant: '', metadata: undefined })).status.state, TaskState.TASK_STATE_CANCELED)
    check.equal((await client.getTask({ id: running.id, tenant: '' })).status.state, TaskState.TASK_STATE_CANCELED)

    const mind = await client.sendMessage(request('What is on your mind?', { metadata: { way: 'subconscious' } }))
    check.equal(mind.role, Role.ROLE_AGENT)

    // push notifications
    const received = new Promise((done) => {
      const hook = http.createServer((req, res) => {
        let body = ''
        req.on('data', (d) => (body += d))
        req.on('end', () => {
          res.end()
          hook.close()
          done({ token: req.headers['a2a-notification-token'], body: JSON.parse(body) })
        })
      })
      hook.listen(0, '127.0.0.1', async () => {
        const taskPushNotificationConfig = { tenant: '', id: '', taskId: '', url: `http://127.0.0.1:${hook.address().port}/`, token: 'mine', authentication: undefined }
        await client.sendMessage(request(question, {}, configuration({ taskPushNotificationConfig })))
      })
    })
    const pushed = await received
    check.equal(pushed.token, 'mine')
    check.equal(pushed.body.task.status.state, 'TASK_STATE_COMPLETED')
    check.equal(pushed.body.task.artifacts[0].parts[0].text, answer)

    await check.rejects(client.getTask({ id: 'nothing', tenant: '' }))
    await check.rejects(client.sendMessage(request('And then?', { taskId: task.id })))
    await check.rejects(client.sendMessage(request(question, { metadata: { way: 'guess' } })))
  })
}
