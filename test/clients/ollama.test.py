"""Ollama's own client for Python."""

import ollama
from checks import ANSWER, QUESTION, THOUGHT, TOKEN, URL, check, clean, fails, run

client = ollama.Client(host=URL, headers={"Authorization": f"Bearer {TOKEN}"})


def weather(city: str) -> str:
    """How warm it is in a city."""
    return {"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}[city]


def ask(content, **more):
    return client.chat(**{"model": "ponder/chat", "messages": [{"role": "user", "content": content}], **more})


def test_models():
    check("ponder/chat:latest" in [m.model for m in client.list().models])
    check("thinking" in client.show("ponder/chat").capabilities)


def test_answer():
    out = ask(QUESTION)
    check((out.message.content, out.message.thinking, out.done_reason), (ANSWER, THOUGHT, "stop"))
    clean(out.model_dump_json())
    check("".join(c.message.content for c in ask(QUESTION, stream=True)), ANSWER)
    check(client.generate("ponder/chat", QUESTION).response, ANSWER)


def test_tools():
    messages = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]
    first = ask("", messages=messages, tools=[weather])
    messages.append(first.message)
    for c in first.message.tool_calls:
        messages.append({"role": "tool", "tool_name": c.function.name, "content": weather(**c.function.arguments)})
    check(len(messages), 4)
    check(ask("", messages=messages, tools=[weather]).message.content, "Paris has 18 degrees, Rome has 24.")


def test_errors():
    check(fails(ollama.ResponseError, lambda: ask(QUESTION, model="nonsense")).status_code, 404)
    clean(str(fails(ollama.ResponseError, lambda: ask("Say a forbidden thing, snake."))))
    clean(str(fails(ollama.ResponseError, lambda: list(ask("Say a forbidden thing, snake.", stream=True)))))


def test_embed():
    check(len(client.embed("ponder/embed", ["salt", "sea"]).embeddings), 2)


run(globals())
