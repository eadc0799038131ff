#!/usr/bin/env python3
"""What the server says about itself: /openapi.json, docs/api.md and its examples, all from one table."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from helper_server import API, ROOT, Skip, equal, is_true, run

PAGE = f"{ROOT}/docs/api.md"
VALIDATOR = "@seriousme/openapi-schema-validator@2.4.1"


def document(server):
    return server("GET", "./openapi.json", status=200).json()


def test_openapi_by_a_validator(place):
    """A real validator, from npm, into a folder that is thrown away."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise Skip("no npm here")
    server = place.serve(url="memory:")
    with open(place.path("openapi.json"), "w", encoding="utf-8") as file:
        json.dump(document(server), file)
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                           VALIDATOR], cwd=place.folder, capture_output=True, text=True,
                          timeout=200, check=False)
    if done.returncode != 0:
        raise Skip("npm can't install the validator: " + done.stderr[-300:])
    script = """
        import { Validator } from "@seriousme/openapi-schema-validator";
        const validator = new Validator();
        const result = await validator.validate("./openapi.json");
        console.log(JSON.stringify({valid: result.valid, errors: result.errors,
                                    version: validator.version}));
    """
    with open(place.path("check.mjs"), "w", encoding="utf-8") as file:
        file.write(script)
    done = subprocess.run(["node", "check.mjs"], cwd=place.folder, capture_output=True, text=True,
                          timeout=60, check=False)
    equal(done.returncode, 0, done)
    equal(json.loads(done.stdout), {"valid": True, "version": "3.1"}, done.stdout)


def test_openapi_hangs_together(place):
    server = place.serve(url="memory:")
    api = document(server)
    equal(api["openapi"], "3.1.0")
    used = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(api)))
    equal(used - set(api["components"]["schemas"]), set())
    equal(set(api["components"]["schemas"]) - used, set(), "schemas that nobody uses")
    names = [operation["operationId"] for methods in api["paths"].values()
             for operation in methods.values()]
    equal(len(names), len(set(names)))
    answer = server("GET", "./openapi.json")
    same = server("GET", "./openapi.json", If_None_Match=answer.headers["ETag"])
    equal((same.status, same.body), (304, b""))


def test_the_page_is_as_the_program_prints_it(place):
    with open(PAGE, encoding="utf-8") as file:
        is_true(file.read() == place.faina("serve", "--print-api").stdout,
                "print docs/api.md anew: faina serve --print-api > docs/api.md")


# ---- examples ----

def fits(schema, value, schemas, where="answer"):
    """The little of JSON Schema that our schemas use. Gives what is wrong, or None."""
    if "$ref" in schema:
        return fits(schemas[schema["$ref"].split("/")[-1]], value, schemas, where)
    if "oneOf" in schema:
        wrong = [fits(one, value, schemas, where) for one in schema["oneOf"]]
        return None if wrong.count(None) == 1 else f"{where}: {wrong}"
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict,
             "array": list, "null": type(None)}
    wanted = schema.get("type")
    if wanted:
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if not any(isinstance(value, kinds[one]) and not (one == "integer" and value in (True, False)
                                                          and isinstance(value, bool))
                   for one in wanted):
            return f"{where}: {value!r} is no {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                return f"{where}: no {name}"
        for name, item in value.items():
            if name in schema.get("properties", {}):
                wrong = fits(schema["properties"][name], item, schemas, f"{where}.{name}")
                if wrong:
                    return wrong
            elif schema.get("additionalProperties") is False:
                return f"{where}: {name} is not in the schema"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            wrong = fits(schema["items"], item, schemas, f"{where}[{i}]")
            if wrong:
                return wrong
    return None


def prepare(server, method, path):
    """The id of a thing that the example can be run with."""
    if "/teams" in path:
        return server("POST", "/teams", {"name": method + path}, 201).json()["id"]
    if "/tokens" in path:
        # One that needs no other: a token of its own would lock the example out.
        return None
    if path == API + "/resources/{name}" and method in ("GET", "DELETE"):
        server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200)
    if path.startswith(API + "/crons/{name}") and method != "PUT":
        server("PUT", "/crons/report", {"schedule": "@yearly", "task": {"type": "a"}}, 200)
    if path == API + "/workers/{name}" and method in ("GET", "DELETE"):
        server("PUT", "/workers/me", {}, 200)
    if "/workflows/" in path or "/events/" in path:
        server("PUT", "/workflows/mails", {"workflow": "mails", "triggers": [
            {"name": "welcome", "on": "user.created", "task": {"type": "mail.send"}}]}, 200)
        server("POST", "/events", {"type": "x", "id": "upload-17"}, 200)
    if "/operations/{id}" in path:
        return server("POST", "/tasks:cancel", {"filter": {"type": "x"}}, 202).json()["operation"]["id"]
    task = server.submit("mail.send")["id"]
    if path.endswith("/result"):
        server.act(task, "start", workerId="me")
        server.act(task, "complete", workerId="me", output={"sent": True})
    elif path.endswith((":complete", ":fail", ":progress", ":heartbeat", ":subtask", ":block", ":background",
                        ":note", ":amend", "/log", ":snooze",
                        "/outcomes", "/heartbeats")):
        server.act(task, "start", workerId="me")
    elif path.endswith(":release"):
        server.act(task, "claim", workerId="me")
    elif path.endswith(":retry"):
        server.act(task, "cancel")
    return task


def sections():
    """(method, path, example) of the page."""
    with open(PAGE, encoding="utf-8") as file:
        for part in file.read().split("\n## Objects\n")[0].split("\n## ")[1:]:
            method, path = part.split("\n", 1)[0].split()
            yield method, path, re.search(r"```sh\n(.*?)\n```", part, re.S)[1]


def run_example(server, place, example, thing):
    env = {**os.environ, "URL": f"http://{server.host}:{server.port}", "ID": thing or ""}
    # curl is asked for the status too; the example itself stays as it is.
    command = "curl() { command curl -sS -w '\\n%{http_code}' \"$@\"; }\n" + example
    done = subprocess.run(["bash", "-c", command], env=env, cwd=place.folder, capture_output=True,
                          text=True, timeout=60, check=False)
    if "/stream" in example: # it has no end, so curl's patience has
        equal(done.returncode, 28, example, done.stderr)
    else:
        equal((done.returncode, done.stderr), (0, ""), example)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def run_login(server, place, example):
    """With a token, which other examples don't need. It is removed again."""
    made = server("POST", "/tokens", {"scopes": ["admin"]}, 201).json()
    try:
        return run_example(server, place, f"FAINA_TOKEN={made['token']}\n" + example, None)
    finally:
        server("DELETE", f"/tokens/{made['id']}", status=204, token=made["token"])


def test_examples(place):
    if not shutil.which("curl"):
        raise Skip("no curl here")
    server = place.serve()
    api = document(server)
    seen = set()
    for method, path, example in sections():
        operation = api["paths"][path][method.lower()]
        seen.add((method, path))
        if "/tokens" in path:
            with tempfile.TemporaryDirectory(dir=place.folder) as folder:
                other = place.serve(url=f"sqlite:{folder}/t.db")
                thing = None
                if method == "DELETE":
                    thing = other("POST", "/tokens", {"scopes": ["read"]}, 201).json()["id"]
                    example = example.replace("curl ", f"curl --unix-socket {folder}/t.db.sock ", 1)
                status, body = run_example(other, place, example, thing)
                other.stop()
        elif (method, path) == ("POST", API + "/session"):
            status, body = run_login(server, place, example)
        else:
            status, body = run_example(server, place, example, prepare(server, method, path))
        good = [code for code in operation["responses"] if code != "default"]
        is_true(str(status) in good, method, path, example, status, body)
        content = operation["responses"][str(status)].get("content", {})
        if "application/json" in content:
            wrong = fits(content["application/json"]["schema"], json.loads(body),
                         api["components"]["schemas"])
            equal(wrong, None, method, path, body)
        elif not content:
            equal(body, "")
    equal(seen, {(method.upper(), path) for path, methods in api["paths"].items()
                 for method in methods})


# What a body, and what a definition says about a field that it doesn't know.
UNKNOWN = re.compile(rb"unknown field|is not a known field")


def test_schemas_know_every_field_of_a_body(place):
    """A body with every field that its schema has is not refused for a field that is unknown."""
    server = place.serve()
    api = document(server)
    schemas = api["components"]["schemas"]
    tried = 0
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            schema = schemas[content["application/json"]["schema"]["$ref"].split("/")[-1]]
            thing = server("POST", "/teams", {"name": method}, 201) if "/teams/" in path \
                else server("POST", "/tasks", {"type": "t"}, 201)
            target = "." + path.replace("{id}", thing.json()["id"]).replace("{name}", "x")
            for name in schema["properties"]:
                answer = server(method.upper(), target, {name: None})
                is_true(not UNKNOWN.search(answer.body), path, name, answer)
                tried += 1
            answer = server(method.upper(), target, {"surely unknown": None}, 400)
            is_true(UNKNOWN.search(answer.body), path, answer)
    is_true(tried > 60, tried)


run(globals())
