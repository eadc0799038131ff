"""The same with a coroutine."""
import faina

worker = faina.Worker(concurrency=100)


@worker.task("nothing")
async def nothing(_):
    return None


worker.run()
