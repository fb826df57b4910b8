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


def test_threads():
    first = client.beta.messages.create(model="ponder/chat", max_tokens=2000, thread={"type": "create"}, betas=["message-threads-2026-08-12"], messages=[{"role": "user", "content": QUESTION}])
    check(first.content[-1].text, ANSWER)
    again = {"model": "ponder/chat", "max_tokens": 2000, "betas": ["message-threads-2026-08-12"], "messages": [{"role": "user", "content": "And the population?"}]}
    second = client.beta.messages.create(thread={"type": "continue", "previous_message_id": first.id}, **again)
    check(second.content[-1].text, "Two million people live there.")
    check(second.id != first.id)
    unknown = fails(anthropic.NotFoundError, lambda: client.beta.messages.create(thread={"type": "continue", "previous_message_id": "msg_unknown"}, **again))
    check(unknown.body["error"]["details"]["error_code"], "thread_not_found")
    used = fails(anthropic.BadRequestError, lambda: client.beta.messages.create(thread={"type": "continue", "previous_message_id": first.id}, **{**again, "messages": [{"role": "user", "content": QUESTION}]}))
    check(used.body["error"]["details"]["error_code"], "thread_already_continued")


def test_prefill_and_search_results():
    found = {"type": "search_result", "source": "https://a.test/x", "title": "France", "content": [{"type": "text", "text": "Paris is a city."}]}
    out = ask("", messages=[{"role": "user", "content": [found, {"type": "text", "text": QUESTION}]}])
    check(out.content[-1].text, ANSWER)
    begun = ask("", messages=[{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "The capital"}])
    check(begun.content[-1].text.strip() != "")


def test_failures():
    long = fails(anthropic.BadRequestError, lambda: ask("Say too much, Python Claude."))
    check("prompt is too long" in long.message)
    limited = fails(anthropic.RateLimitError, lambda: ask("Say it too often, Python Claude."))
    check(limited.response.headers["retry-after"].isdigit())
    check(limited.body["error"]["type"], "rate_limit_error")


def test_errors():
    fails(anthropic.NotFoundError, lambda: ask(QUESTION, model="nonsense"))
    fails(anthropic.BadRequestError, lambda: ask(QUESTION, max_tokens=0))
    fails(anthropic.AuthenticationError, lambda: client.with_options(api_key="wrong").messages.count_tokens(model="ponder/chat", messages=[]))
    clean(str(fails(anthropic.APIStatusError, lambda: ask("Say a forbidden thing, Python Claude.")).body))


run(globals())
