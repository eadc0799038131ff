"""Client and worker for Faina, a durable task engine.

    import faina

    client = faina.Client()                       # $FAINA_URL, else http://127.0.0.1:7070
    task = client.submit("mail.send", {"to": "ann@example.com"})

    worker = faina.Worker(client, concurrency=10)

    @worker.task("mail.send")
    def send(mail):
        return {"sent": mail["to"]}

    worker.run()                                  # until SIGTERM or Ctrl-C
"""
from .client import Client
from .errors import (Conflict, FainaError, Forbidden, Invalid, NotFound, Overloaded, Permanent, Retry, TimedOut,
                     Unavailable)
from .task import Operation, Submitted, Task
from .worker import Background, Context, Snooze, Subtasks, Worker

__all__ = [
    "Background", "Client", "Conflict", "Context", "FainaError", "Forbidden", "Invalid", "NotFound", "Operation",
    "Overloaded", "Permanent", "Retry", "Snooze", "Submitted", "Subtasks", "Task", "TimedOut", "Unavailable", "Worker",
]
__version__ = "0.1.0"
