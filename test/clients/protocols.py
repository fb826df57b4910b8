"""The official clients for Python of the three protocols for agents: A2A, ACP, and AG-UI, whose package has the types alone."""

import asyncio
import json
import os
import tempfile
import uuid

import httpx
from checks import ANSWER, QUESTION, TOKEN, URL, check, clean, run

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
WAYS = ["think", "deep_think", "research", "session", "subconscious"]


def test_a2a():
    asyncio.run(a2a())


async def a2a():
    from a2a.client import ClientConfig, create_client
    from a2a.types import CancelTaskRequest, GetTaskRequest, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, TaskState

    def request(text, more=None, **fields):
        message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **fields)
        return SendMessageRequest(message=message, configuration=more)

    for binding in ("JSONRPC", "HTTP+JSON"):
        for streaming in (False, True):
            async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
                config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding], use_client_preference=True)
                client = await create_client(URL, config)
                text, state, task = "", None, None
                async for event in client.send_message(request(QUESTION)):
                    clean(str(event))
                    if event.HasField("task"):
                        task, state = event.task, event.task.status.state
                        text += "".join(p.text for a in task.artifacts for p in a.parts)
                    if event.HasField("artifact_update"):
                        part = "".join(p.text for p in event.artifact_update.artifact.parts)
                        text = text + part if event.artifact_update.append else part
                    if event.HasField("status_update"):
                        state = event.status_update.status.state
                check(text, ANSWER)
                check(state, TaskState.TASK_STATE_COMPLETED)
                check((await client.get_task(GetTaskRequest(id=task.id))).status.state, TaskState.TASK_STATE_COMPLETED)

                at_once = SendMessageConfiguration(return_immediately=True)
                async for event in client.send_message(request("/session minutes=10 Why is the sea blue?", at_once)):
                    task = event.task
                    break
                check((await client.cancel_task(CancelTaskRequest(id=task.id))).status.state, TaskState.TASK_STATE_CANCELED)


def test_acp():
    asyncio.run(acp())


async def acp():
    from acp import PROTOCOL_VERSION, Client, spawn_agent_process, text_block
    from acp.schema import AllowedOutcome, RequestPermissionResponse

    sent = []

    class Editor(Client):
        async def session_update(self, session_id, update, **more):
            sent.append(update)

        async def request_permission(self, session_id, tool_call, options, **more):
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    def text(kind):
        return "".join(u.content.text for u in sent if u.session_update == kind)

    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home}
        env |= {f"XDG_{n}": home for n in ("DATA_HOME", "CONFIG_HOME", "CACHE_HOME", "STATE_HOME", "RUNTIME_DIR")}
        env |= {n: os.environ[n] for n in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "PONDER_MODEL_FAST", "PONDER_MODEL_SLOW", "PONDER_MODEL_CHEAP")}
        async with spawn_agent_process(Editor(), os.environ["PONDER_COMMAND"], "acp", env=env, cwd=home) as (agent, _):
            hello = await agent.initialize(protocol_version=PROTOCOL_VERSION)
            check(hello.protocol_version, PROTOCOL_VERSION)
            session = await agent.new_session(cwd=home, mcp_servers=[])
            check([m.id for m in session.modes.available_modes], WAYS)
            check((await agent.prompt(session_id=session.session_id, prompt=[text_block(QUESTION)])).stop_reason, "end_turn")
            check(ANSWER in text("agent_message_chunk"))
            await agent.set_session_mode(session_id=session.session_id, mode_id="subconscious")
            check((await agent.prompt(session_id=session.session_id, prompt=[text_block("What is on your mind?")])).stop_reason, "end_turn")
            check("subconscious has no entries" in text("agent_message_chunk"))
            check(session.session_id in [s.session_id for s in (await agent.list_sessions()).sessions])
    for update in sent:
        clean(update.model_dump_json())


def test_agui():
    from ag_ui.core import Event, EventType, RunAgentInput, UserMessage
    from pydantic import TypeAdapter

    def events(text, **props):
        body = RunAgentInput(thread_id="python", run_id=str(uuid.uuid4()), state={}, messages=[UserMessage(id=str(uuid.uuid4()), role="user", content=text)], tools=[], context=[], forwarded_props=props)
        with httpx.stream("POST", f"{URL}/agui", headers=HEADERS, content=body.model_dump_json(by_alias=True), timeout=60) as response:
            for line in response.iter_lines():
                if line.startswith("data:"):
                    clean(line)
                    yield TypeAdapter(Event).validate_python(json.loads(line[5:]))

    for text, props in ((QUESTION, {}), ("What is on your mind?", {"way": "subconscious"})):
        got = list(events(text, **props))
        check([got[0].type, got[-1].type], [EventType.RUN_STARTED, EventType.RUN_FINISHED])
        said = "".join(e.delta for e in got if e.type == EventType.TEXT_MESSAGE_CONTENT)
        check(said == ANSWER if not props else bool(said))


run(globals())
