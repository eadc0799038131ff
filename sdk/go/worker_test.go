package faina

import (
	"context"
	"testing"
)

func TestRunInline(t *testing.T) {
	client, err := NewClient(URL("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	worker := NewWorker(client)
	Handle(worker, "Double", func(ctx context.Context, input struct{ N int }) (any, error) {
		attempt := AttemptOf(ctx)
		attempt.Progress(50, "half", nil)
		attempt.Log("a line")
		return input.N * 2 * attempt.Number(), nil
	})
	output, err := worker.RunInline(context.Background(), "double", map[string]int{"N": 21})
	if err != nil || output != 42 {
		t.Fatalf("got %v, %v", output, err)
	}
	if _, err := worker.RunInline(context.Background(), "double", "text"); err == nil {
		t.Fatal("an input of another type is accepted")
	}
	if _, err := worker.RunInline(context.Background(), "other", nil); err == nil {
		t.Fatal("a type without a handler is accepted")
	}
}
