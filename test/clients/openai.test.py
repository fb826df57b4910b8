"""OpenAI's own client for Python: chat completions, models, embeddings."""

import json

import openai
from checks import ANSWER, QUESTION, THOUGHT, TOKEN, URL, check, clean, fails, run

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
DEGREES = {"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}


def ask(content, **more):
    return client.chat.completions.create(**{"model": "ponder/chat", "messages": [{"role": "user", "content": content}], **more})


def test_models():
    check("ponder/research" in [m.id for m in client.models.list()])
    check(client.models.retrieve("ponder/chat").id, "ponder/chat")


def test_answer():
    out = ask(QUESTION)
    check(out.choices[0].message.content, ANSWER)
    check(out.choices[0].message.reasoning_content, THOUGHT)
    check(out.choices[0].finish_reason, "stop")
    check(out.usage.total_tokens > 0)
    check(bool(out._request_id))
    clean(out.model_dump_json())


def test_stream():
    text = reasoning = ""
    for chunk in ask(QUESTION, stream=True, stream_options={"include_usage": True}):
        clean(chunk.model_dump_json())
        for c in chunk.choices:
            text += c.delta.content or ""
            reasoning += getattr(c.delta, "reasoning_content", None) or ""
    check(text, ANSWER)
    check(reasoning.strip(), THOUGHT)
    check(chunk.usage.completion_tokens > 0)


def test_stream_helper():
    with client.chat.completions.stream(model="ponder/chat", messages=[{"role": "user", "content": QUESTION}]) as stream:
        kinds = {e.type for e in stream}
    check({"chunk", "content.delta", "content.done"} <= kinds)
    check(stream.get_final_completion().choices[0].message.content, ANSWER)


def test_tools():
    messages = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]
    first = ask("", messages=messages, tools=[WEATHER]).choices[0]
    check(first.finish_reason, "tool_calls")
    check([json.loads(c.function.arguments)["city"] for c in first.message.tool_calls], ["Paris", "Rome"])
    messages.append(first.message)
    for c in first.message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": c.id, "content": DEGREES[json.loads(c.function.arguments)["city"]]})
    check(ask("", messages=messages, tools=[WEATHER]).choices[0].message.content, "Paris has 18 degrees, Rome has 24.")


def test_schema():
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    out = client.chat.completions.parse(
        model="ponder/chat", messages=[{"role": "user", "content": "Give me a person as JSON."}], response_format=Person
    )
    check(out.choices[0].message.parsed, Person(name="Ada", age=36))


def test_errors():
    e = fails(openai.NotFoundError, lambda: ask(QUESTION, model="nonsense"))
    check((e.code, e.param), ("model_not_found", "model"))
    check(fails(openai.BadRequestError, lambda: ask(QUESTION, n=17)).param, "n")
    fails(openai.BadRequestError, lambda: ask(QUESTION, messages=[]))
    stranger = client.with_options(api_key="wrong")
    check(fails(openai.AuthenticationError, lambda: stranger.models.list()).code, "invalid_api_key")


def test_failure():
    e = fails(openai.APIStatusError, lambda: ask("Say a forbidden thing, Python."))
    clean(str(e.body))
    e = fails(openai.APIError, lambda: list(ask("Say a forbidden thing, Python.", stream=True)))
    clean(str(e.body))


def test_embeddings():
    out = client.embeddings.create(model="ponder/embed", input=["salt", "sea", "salt"])
    check(len(out.data), 3)
    check(out.data[0].embedding, out.data[2].embedding)


def test_completions():
    out = client.completions.create(model="ponder/chat", prompt=QUESTION)
    check(out.choices[0].text, ANSWER)
    pieces = client.completions.create(model="ponder/chat", prompt=QUESTION, stream=True, stop=[" Paris"])
    check("".join(c.choices[0].text for c in pieces if c.choices), ANSWER.split(" Paris")[0])
    fails(openai.BadRequestError, lambda: client.completions.create(model="ponder/chat", prompt="x", n=17))


def test_failures():
    long = fails(openai.BadRequestError, lambda: client.chat.completions.create(model="ponder/chat", messages=[{"role": "user", "content": "Say too much, Python GPT."}]))
    check(long.code, "context_length_exceeded")
    limited = fails(openai.RateLimitError, lambda: client.chat.completions.create(model="ponder/chat", messages=[{"role": "user", "content": "Say it too often, Python GPT."}]))
    check(limited.response.headers["retry-after"].isdigit())
    failed = fails(openai.RateLimitError, lambda: client.responses.create(model="ponder/chat", input="Say it too often, Python Responses."))
    check(failed.code, "rate_limit_exceeded")


def test_embedding_forms():
    whole = client.embeddings.create(model="ponder/embed", input=["hello world"]).data[0].embedding
    check(client.embeddings.create(model="ponder/embed", input=[[15339, 1917]]).data[0].embedding, whole)
    check(len(client.embeddings.create(model="ponder/embed", input="x", dimensions=4).data[0].embedding), 4)


def test_custom_tools():
    tools = [{"type": "custom", "name": "weather", "description": "Reads text."}, {"type": "namespace", "name": "crm", "description": "x", "tools": [{"type": "function", "name": "find", "parameters": {"type": "object"}}]}]
    out = client.responses.create(model="ponder/chat", input="What is the weather in Paris?", tools=tools)
    check([i.type for i in out.output if i.type.endswith("call")], ["custom_tool_call"])
    fails(openai.BadRequestError, lambda: client.responses.create(model="ponder/chat", input="x", tools=[{"type": "local_shell"}]))


run(globals())
