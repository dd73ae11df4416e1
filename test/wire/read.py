"""Reads answers as a program with openai-python does. Input: a list of {"url", "request"}; output: a JSON line each."""

import json
import sys

from openai import OpenAI


def read(url, request):
    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    fields = {name: request[name] for name in request if name not in ("model", "messages", "stream")}
    answer = client.chat.completions.create(
        model=request["model"],
        messages=request["messages"],
        stream=request.get("stream", False),
        extra_body=fields,
    )
    if not request.get("stream"):
        return answer.model_dump()
    text, finish, calls = "", None, []
    for chunk in answer:
        for choice in chunk.choices:
            if choice.index != 0:
                continue
            content = choice.delta.content
            text += content if isinstance(content, str) else ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                function = call.function
                calls.append([call.index, function and function.name, function and function.arguments])
    return {"text": text, "finish": finish, "calls": calls}


for each in json.load(sys.stdin):
    try:
        print(json.dumps(read(each["url"], each["request"])))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
