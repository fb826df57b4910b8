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


WEATHER = "What is the weather in Paris and Rome?"
DEGREES = {"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}


def langchain(model):
    """Lets a model answer, stream, call tools and fill in a schema."""
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool
    from pydantic import BaseModel

    class Person(BaseModel):
        """A person."""

        name: str
        age: int

    @tool
    def weather(city: str) -> str:
        """How warm it is in a city."""
        return DEGREES[city]

    check(model.invoke(QUESTION).text, ANSWER)
    check("".join(chunk.text for chunk in model.stream(QUESTION)), ANSWER)
    with_tools = model.bind_tools([weather])
    messages = [HumanMessage(WEATHER)]
    messages.append(with_tools.invoke(messages))
    messages += [weather.invoke(call) for call in messages[-1].tool_calls]
    check(with_tools.invoke(messages).text, "Paris has 18 degrees, Rome has 24.")
    check(model.with_structured_output(Person, method="json_schema").invoke("Give me a person as JSON.").age, 36)


@needs("langchain_openai")
def test_langchain_openai():
    from langchain_core.exceptions import ContextOverflowError
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    for responses in (False, True):
        model = ChatOpenAI(model="ponder/chat", use_responses_api=responses, max_retries=0)
        langchain(model)
        fails(ContextOverflowError, lambda m=model, r=responses: m.invoke(f"{LONG}LangChain {r}."))
    for tokens in (False, True):  # token IDs need an encoding, which tiktoken downloads
        try:
            vectors = OpenAIEmbeddings(model="ponder/embed", dimensions=4, max_retries=0, check_embedding_ctx_length=tokens)
            got = vectors.embed_documents(["one", "two"])
        except OSError as e:
            print(f"note: no token IDs from LangChain: {str(e)[:100]}")
            continue
        check([len(v) for v in got], [4, 4])


@needs("langchain_anthropic")
def test_langchain_anthropic():
    from langchain_anthropic import ChatAnthropic
    from langchain_core.exceptions import ContextOverflowError

    model = ChatAnthropic(model="ponder/chat", max_tokens=2000, max_retries=0)
    langchain(model)
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
    check("".join(c.choices[0].delta.content or "" for c in ask(QUESTION, stream=True)), ANSWER)
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
    for name in ("openai/ponder/chat", "anthropic/ponder/chat"):
        check([c.function.name for c in ask(WEATHER, name, tools=tools).choices[0].message.tool_calls], ["weather", "weather"])
    vectors = litellm.embedding(model="openai/ponder/embed", input=["one", "two"], dimensions=4, allowed_openai_params=["dimensions"])
    check([len(v["embedding"]) for v in vectors.data], [4, 4])
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

    def weather(city: str) -> str:
        """How warm it is in a city."""
        return DEGREES[city]

    for name in ("openai-chat:ponder/chat", "openai-responses:ponder/chat", "anthropic:ponder/chat"):
        check(Agent(name).run_sync(QUESTION).output, ANSWER)
        agent = Agent(name)
        agent.tool_plain(weather)
        check(agent.run_sync(WEATHER).output, "Paris has 18 degrees, Rome has 24.")
    e = fails(ModelHTTPError, lambda: Agent("openai-chat:ponder/chat").run_sync(f"{LONG}Pydantic."))
    check(e.status_code, 400)


@needs("agents")
def test_openai_agents():
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    @function_tool
    def weather(city: str) -> str:
        """How warm it is in a city."""
        return DEGREES[city]

    async def run_agents():
        for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):  # a name with a slash would name a provider
            model = kind(model="ponder/chat", openai_client=AsyncOpenAI(max_retries=0))
            out = await Runner.run(Agent(name="agent", model=model, tools=[weather]), WEATHER)
            check(out.final_output, "Paris has 18 degrees, Rome has 24.")
            clean(str(out.final_output))
            out = await Runner.run(Agent(name="agent", model=model, output_type=Person), "Give me a person as JSON.")
            check(out.final_output.age, 36)

    asyncio.run(run_agents())


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
