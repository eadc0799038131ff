#!/usr/bin/env python3
"""Sessions of browsers, and what a caller learns about the server and itself."""
import threading

from helper_server import equal, is_true, run, wait_until

ALL = ["admin", "operate", "read", "submit", "view", "work"]


def login(server, token, **more):
    answer = server("POST", "/session", {"token": token}, 200, **more)
    cookie = answer.headers["Set-Cookie"]
    return answer, cookie.split(";")[0], [part.strip() for part in cookie.split(";")[1:]]


def test_session(place):
    token = place.token("view,operate", name="ann", namespace="mine,ours", expires="1h")
    server = place.serve()
    answer, cookie, flags = login(server, token)
    is_true({"HttpOnly", "SameSite=Strict", "Path=/"} <= set(flags) and "Secure" not in flags, flags)
    is_true(token not in answer.body.decode() + cookie)
    shown = answer.json()
    equal((shown["name"], sorted(shown["scopes"]), shown["namespaces"]),
          ("ann", ["operate", "view"], ["mine", "ours"]))
    is_true(shown["expiresAt"] > "20", shown)
    equal(server("GET", "/session", status=200, Cookie="a=b; " + cookie).json(), shown)
    by_token = server("GET", "/session", status=200, token=token).json()
    equal({**by_token, "expiresAt": 0}, {**shown, "expiresAt": 0})
    server("GET", "/tasks?namespace=mine", status=200, Cookie=cookie)
    equal(server("GET", "/tasks?namespace=theirs", status=403, Cookie=cookie).code(), "forbidden")
    equal(server("POST", "/tasks", {"type": "t", "namespace": "mine"}, 403, Cookie=cookie).code(), "forbidden")
    # A header comes first, and the cookie is not taken instead of a bad one.
    equal(server("GET", "/session", status=401, Cookie=cookie, token="bad").code(), "unauthorized")
    for bad in (cookie[:-1], cookie + "0", cookie[:-1] + ("1" if cookie[-1] == "0" else "0"),
                "faina_session=", "faina_session=" + "f" * 68, "other=1"):
        equal(server("GET", "/session", status=401, Cookie=bad).code(), "unauthorized", bad)
    encrypted = login(server, token, X_Forwarded_Proto="https")
    is_true("Secure" in encrypted[2], encrypted)
    # Logging in again replaces the session of the browser.
    second = login(server, token, Cookie=cookie)[1]
    server("GET", "/session", status=401, Cookie=cookie)
    answer = server("DELETE", "/session", status=204, Cookie=second)
    is_true("Max-Age=0" in answer.headers["Set-Cookie"], answer)
    equal(server("GET", "/tasks?namespace=mine", status=401, Cookie=second).code(), "unauthorized")
    server("DELETE", "/session", status=204)
    # Log lines have no secrets.
    is_true(token not in "".join(server.lines) and cookie not in "".join(server.lines))


def test_other_sites(place):
    token = place.token("admin")
    server = place.serve()
    cookie = login(server, token)[1]
    here = f"http://{server.host}:{server.port}"
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                    {"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Origin": here, "Sec-Fetch-Site": "cross-site"}):
        for method, path, body in (("GET", "/tasks", None), ("GET", "/stream", None),
                                   ("POST", "/tasks", {"type": "t"}), ("DELETE", "/session", None)):
            answer = server(method, path, body, 403, headers={**headers, "Cookie": cookie})
            equal(answer.code(), "forbidden", headers, path)
    for headers in ({"Sec-Fetch-Site": "same-origin", "Origin": here}, {"Sec-Fetch-Site": "none"}, {}):
        server("GET", "/tasks", status=200, headers={**headers, "Cookie": cookie})
        server("POST", "/tasks", {"type": "t"}, 201, headers={**headers, "Cookie": cookie})
    # A link from elsewhere to a public page, and requests without the cookie.
    server("GET", "./healthz", status=200, headers={"Sec-Fetch-Site": "same-site", "Cookie": cookie})
    server("GET", "/tasks", status=200, headers={"Sec-Fetch-Site": "cross-site"}, token=token)
    server("POST", "/session", {"token": token}, 403, headers={"Origin": "http://evil.example"})


def test_failed_logins_are_limited(place):
    """As failed tokens are: from this machine a good token is compared all the same."""
    token = place.token("admin")
    server = place.serve()
    seen = set()
    for i in range(20):
        seen.add(server("POST", "/session", {"token": f"faina_{i}"}).code())
    equal(seen, {"unauthorized", "overloaded"})
    login(server, token)
    is_true(server("GET", "./metrics", status=200, token=token).body.decode()
            .count("faina_auth_failures_total 20"))
    equal(server("POST", "/session", {}, 400).json()["errors"][0]["field"], "token")
    equal(server("POST", "/session", {"token": token, "more": 1}, 400).json()["errors"][0]["field"], "more")
    equal(server("POST", "/session", {"token": 1}, 400).json()["errors"][0]["field"], "token")


def test_a_session_ends_with_its_token(place):
    boss = place.token("admin", name="boss")
    server = place.serve()
    server.token = boss
    made = server("POST", "/tokens", {"name": "x", "scopes": ["read"]}, 201).json()
    cookie = login(server, made["token"])[1]
    other = login(server, made["token"])[1]
    ended = []

    def follow(name, session):
        connection = server.connect()
        connection.request("GET", "/api/v1/stream", headers={"Cookie": session})
        response = connection.getresponse()
        equal(response.status, 200)
        ended.append("open " + name)
        ended.append(name + response.read().decode())

    threads = [threading.Thread(target=follow, args=pair) for pair in (("first", cookie), ("second", other))]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(ended) == 2, "the streams are not open")
    server("DELETE", "/session", status=204, Cookie=cookie, token="")
    threads[0].join(60)
    is_true(ended[-1].startswith("first") and "no longer valid" in ended[-1] and len(ended) == 3, ended)
    server("DELETE", f"/tokens/{made['id']}", status=204)
    threads[1].join(60)
    is_true("no longer valid" in ended[-1], ended)
    equal(server("GET", "/session", status=401, Cookie=other, token="").code(), "unauthorized")
    # The server is restarted: log in again.
    cookie = login(server, boss)[1]
    server.stop()
    server = place.serve()
    answer = server("GET", "/session", status=401, Cookie=cookie)
    is_true("log in again" in answer.json()["detail"], answer)


def test_without_tokens(place):
    server = place.serve("--node-id", "here")
    equal(server("GET", "/session", status=200).json(), {
        "name": None, "tokenId": None, "scopes": ["read", "submit", "work", "admin", "view", "operate"],
        "namespaces": None, "expiresAt": None})
    equal(sorted(server("GET", "/session").json()["scopes"]), ALL)
    info = server("GET", "/info", status=200).json()
    equal((info["nodeId"], info["hasTokens"]), ("here", False))
    is_true(info["schemaVersion"] > 0 and info["version"] and info["engine"] in place.url + "ql", info)
    is_true("workflows" in info["features"] and ("backup" in info["features"]) == ("sqlite" in place.url), info)
    equal(server("GET", "/namespaces", status=200).json(), {"items": [], "nextCursor": None})
    for name in ("b", "a", "a-b", "c"):
        for kind in ("x", "y"):
            server.submit(kind, namespace=name)
    server("PUT", "/crons/c", {"schedule": "@yearly", "namespace": "crons", "task": {"type": "t"}}, 200)
    server("PUT", "/workflows/w?namespace=flows", {"workflow": "w", "triggers": [
        {"name": "t", "on": "e", "task": {"type": "t"}}]}, 200)
    names, page = [], {"nextCursor": ""}
    while page["nextCursor"] is not None:
        page = server("GET", "/namespaces?limit=2" + (page["nextCursor"] and f"&cursor={page['nextCursor']}"),
                      status=200).json()
        is_true(len(page["items"]) <= 2, page)
        names += [item["name"] for item in page["items"]]
    equal(names, ["a", "a-b", "b", "c", "crons", "flows"])
    token = place.token("view", namespace="mine,b")
    wait_until(lambda: server("GET", "/tasks").status == 401, "the token is not noticed")
    equal([item["name"] for item in server("GET", "/namespaces", status=200, token=token).json()["items"]],
          ["mine", "b"])
    is_true(server("GET", "/info", status=200, token=token).json()["hasTokens"])


run(globals(), on_postgres=True)
