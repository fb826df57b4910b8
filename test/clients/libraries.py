"""Libraries and programs for Python that use the SDKs: answers, and the errors that they recognize.

A library that is not installed is left out, with a note. TestNewest installs the newest versions."""

import asyncio
import importlib.util
import os

from checks import ANSWER, QUESTION, TOKEN, URL, check, clean, fails, run

os.environ.update(OPENAI_BASE_URL=f"{URL}/v1", OPENAI_API_BASE=f"{URL}/v1", OPENAI_API_KEY=TOKEN, ANTHROPIC_BASE_URL=URL, ANTHROPIC_API_KEY=TOKEN, OPENAI_AGENTS_DISABLE_TRACING="1", LITELLM_LOCAL_MODEL_COST_MAP="True")
LONG = "Say too much, "


def needs(*names):
    """Leaves a test out if a package is not there."""

    def decorate(f):
        def test():
            absent = [n for n in names if importlib.util.find_spec(n) is None]
            if absent:
                print(f"note: {absent[0]} is not installed")
            else:
                f()

        return test

    return decorate


@needs("langchain_openai")
def test_langchain_openai():
    from langchain_core.exceptions import ContextOverflowError
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    for responses in (False, True):
        model = ChatOpenAI(model="ponder/chat", use_responses_api=responses, max_retries=0)
        check(model.invoke(QUESTION).text, ANSWER)
        fails(ContextOverflowError, lambda m=model, r=responses: m.invoke(f"{LONG}LangChain {r}."))
    vectors = OpenAIEmbeddings(model="ponder/embed", dimensions=4, max_retries=0)  # sends token IDs
    check([len(v) for v in vectors.embed_documents(["one", "two"])], [4, 4])


@needs("langchain_anthropic")
def test_langchain_anthropic():
    from langchain_anthropic import ChatAnthropic
    from langchain_core.exceptions import ContextOverflowError

    model = ChatAnthropic(model="ponder/chat", max_tokens=2000, max_retries=0)
    check(model.invoke(QUESTION).text, ANSWER)
    fails(ContextOverflowError, lambda: model.invoke(f"{LONG}LangChain Claude."))


@needs("litellm")
def test_litellm():
    import litellm

    def ask(text, model="openai/ponder/chat", **more):
        return litellm.completion(model=model, messages=[{"role": "user", "content": text}], num_retries=0, max_retries=0, max_tokens=2000, **more)

    check(ask(QUESTION).choices[0].message.content, ANSWER)
    check(ask(QUESTION, "anthropic/ponder/chat").choices[0].message.content, ANSWER)
    fails(litellm.ContextWindowExceededError, lambda: ask(f"{LONG}litellm."))
    fails(litellm.ContextWindowExceededError, lambda: ask(f"{LONG}litellm Claude.", "anthropic/ponder/chat"))
    fails(litellm.RateLimitError, lambda: ask("Say it too often, litellm."))
    check(litellm.text_completion(model="text-completion-openai/ponder/chat", prompt=QUESTION).choices[0].text, ANSWER)


@needs("llm")
def test_llm():
    from llm.default_plugins.openai_models import Chat, Completion

    for kind in (Chat, Completion):
        model = kind("ponder", model_name="ponder/chat", api_base=f"{URL}/v1")
        model.key = TOKEN
        for stream in (False, True):
            check(model.prompt(QUESTION, stream=stream).text(), ANSWER)


@needs("llama_index.llms.openai_like") if importlib.util.find_spec("llama_index") else needs("llama_index")
def test_llama_index():
    from llama_index.llms.openai_like import OpenAILike

    for chat in (True, False):
        model = OpenAILike(model="ponder/chat", api_base=f"{URL}/v1", api_key=TOKEN, is_chat_model=chat, max_retries=0)
        check(model.complete(QUESTION).text, ANSWER)
        check("".join(c.delta or "" for c in model.stream_complete(QUESTION)), ANSWER)


@needs("pydantic_ai")
def test_pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.exceptions import ModelHTTPError

    for name in ("openai-chat:ponder/chat", "openai-responses:ponder/chat", "anthropic:ponder/chat"):
        check(Agent(name).run_sync(QUESTION).output, ANSWER)
    e = fails(ModelHTTPError, lambda: Agent("openai-chat:ponder/chat").run_sync(f"{LONG}Pydantic."))
    check(e.status_code, 400)


@needs("agents")
def test_openai_agents():
    from agents import Agent, Runner, function_tool

    @function_tool
    def weather(city: str) -> str:
        """How warm it is in a city."""
        return {"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}[city]

    agent = Agent(name="agent", model="ponder/chat", tools=[weather])
    out = asyncio.run(Runner.run(agent, "What is the weather in Paris and Rome?"))
    check(out.final_output, "Paris has 18 degrees, Rome has 24.")
    clean(str(out.final_output))


@needs("instructor")
def test_instructor():
    import instructor
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    for mode in (instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA):
        client = instructor.from_provider("openai/ponder/chat", mode=mode)
        check(client.create(response_model=Person, messages=[{"role": "user", "content": "Give me a person as JSON."}]).age, 36)


run(globals())
