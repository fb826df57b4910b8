"""Anthropic's own client for Python."""

import anthropic
from checks import ANSWER, QUESTION, THOUGHT, TOKEN, URL, check, clean, fails, run

client = anthropic.Anthropic(base_url=URL, api_key=TOKEN, max_retries=0)

WEATHER = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
DEGREES = {"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}


def ask(content, **more):
    return client.messages.create(**{"model": "ponder/chat", "max_tokens": 2000, "messages": [{"role": "user", "content": content}], **more})


def test_answer():
    out = ask(QUESTION, system="Be brief.")
    check([b.type for b in out.content], ["thinking", "text"])
    check((out.content[0].thinking, out.content[1].text, out.stop_reason), (THOUGHT, ANSWER, "end_turn"))
    clean(out.model_dump_json())


def test_stream():
    with client.messages.stream(model="ponder/chat", max_tokens=2000, messages=[{"role": "user", "content": QUESTION}]) as stream:
        check("".join(stream.text_stream), ANSWER)
        check(stream.get_final_message().usage.output_tokens > 0)


def test_tools():
    messages = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]
    first = ask("", messages=messages, tools=[WEATHER])
    calls = [b for b in first.content if b.type == "tool_use"]
    check([c.input["city"] for c in calls], ["Paris", "Rome"])
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": DEGREES[c.input["city"]]} for c in calls]})
    check(ask("", messages=messages, tools=[WEATHER]).content[-1].text, "Paris has 18 degrees, Rome has 24.")


def test_tokens():
    check(client.messages.count_tokens(model="ponder/chat", messages=[{"role": "user", "content": QUESTION}]).input_tokens > 4)


def test_errors():
    fails(anthropic.NotFoundError, lambda: ask(QUESTION, model="nonsense"))
    fails(anthropic.BadRequestError, lambda: ask(QUESTION, max_tokens=0))
    fails(anthropic.AuthenticationError, lambda: client.with_options(api_key="wrong").messages.count_tokens(model="ponder/chat", messages=[]))
    clean(str(fails(anthropic.APIStatusError, lambda: ask("Say a forbidden thing, Python Claude.")).body))


run(globals())
