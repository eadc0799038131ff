#!/usr/bin/env python3
"""Clients of beanstalkd as people use them: Debian's, and npm's jackd if FA_NODE_MODULES names a folder that has it."""
import os
import subprocess
import textwrap

from helper_beanstalk import serve
from helper_server import PATIENCE, ROOT, Skip, equal, run

HERE = os.path.join(ROOT, "tests", "server")
JACKD = """
    const Jackd = require("jackd"), assert = require("assert");
    (async () => {
      const client = new (Jackd.default || Jackd)();
      await client.connect({ host: "127.0.0.1", port: Number(process.argv[1]) });
      await client.use("Node");
      const first = await client.put({ width: 100 }, { priority: 5, ttr: 90 });
      await client.put("text", { priority: 1 });
      await client.watch("Node");
      let job = await client.reserve();
      assert.equal(job.payload, "text");
      await client.bury(job.id);
      job = await client.reserveWithTimeout(5);
      assert.deepEqual([String(job.id), JSON.parse(job.payload)], [String(first), { width: 100 }]);
      await client.delete(job.id);
      assert.equal(await client.kick(10), 1);
      job = await client.reserve();
      await client.release(job.id);
      job = await client.reserve();
      await client.delete(job.id);
      await client.disconnect();
      console.log("fine");
    })();
"""


def check_client(command, place, **env):
    done = subprocess.run(command, cwd=place.folder, env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=2 * PATIENCE, check=False)
    equal((done.returncode, done.stdout), (0, "fine\n"), done.stderr)


def test_beaneater(place):
    """Debian's ruby-beaneater."""
    if subprocess.run(["sh", "-c", "ruby -e 'require %q(beaneater)'"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        raise Skip("ruby-beaneater is not installed")
    server, _ = serve(place)
    address = server.log("listening for beanstalkd clients")[0]["address"]
    check_client(["ruby", f"{HERE}/helper_beaneater.rb", address], place)
    tasks = server("GET", "/tasks").json()["items"]
    equal({task["name"] for task in tasks}, {"Ruby.Mail"})
    equal({task["status"] for task in tasks}, {"completed"})


def jackd(place):
    """npm's jackd, in the folder FA_NODE_MODULES."""
    modules = os.environ["FA_NODE_MODULES"]
    server, _ = serve(place)
    port = server.log("listening for beanstalkd clients")[0]["address"].rpartition(":")[2]
    check_client(["node", "-e", textwrap.dedent(JACKD), port], place, NODE_PATH=modules)


if os.environ.get("FA_NODE_MODULES"):
    test_jackd = jackd


if __name__ == "__main__":
    run(globals())
