"""A worker that does nothing, for tools/bench-sdk."""
import faina

worker = faina.Worker(concurrency=100)


@worker.task("nothing")
def nothing(_):
    return None


worker.run()
