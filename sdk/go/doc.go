// Package faina is a client and a worker for Faina, a durable task engine.
//
//	client, err := faina.NewClient()                  // $FAINA_URL, else http://127.0.0.1:7070
//	task, err := client.Submit(ctx, "mail.send", Mail{To: "ann@example.com"}, faina.Key("welcome-ann"))
//
//	worker := faina.NewWorker(client, faina.Concurrency(10))
//	faina.Handle(worker, "mail.send", func(ctx context.Context, mail Mail) (any, error) {
//		return map[string]string{"sent": mail.To}, nil
//	})
//	err = worker.Run(ctx)                             // until SIGTERM or Ctrl-C
//
// A task runs at least once: write idempotent handlers, and pass [Attempt.Fence] to what must refuse an attempt that
// has lost its lease.
package faina
