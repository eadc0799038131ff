// A worker that does nothing, for tools/bench-sdk.
package main

import (
	"context"
	"encoding/json"
	"log"

	"faina.example/faina"
)

func main() {
	client, err := faina.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	worker := faina.NewWorker(client, faina.Concurrency(100))
	faina.Handle(worker, "nothing", func(ctx context.Context, input json.RawMessage) (any, error) { return nil, nil })
	if err = worker.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
