// Plays sdk/scenarios/*.json with the Go library against a server of its own: play SCENARIO...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"faina.example/faina"
	"faina.example/faina/fainatest"
)

const patience = time.Minute

type object = map[string]any

type play struct {
	scenario object
	server   *fainatest.Server
	client   *faina.Client
	worker   *faina.Worker
	names    map[string]string

	mutex                sync.Mutex
	begun, running, most map[string]int
	why                  map[string]string
}

// read reads JSON; numbers stay as they are written.
func read(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return value
}

func number(value any, otherwise float64) float64 {
	if given, is := value.(json.Number); is {
		float, _ := given.Float64()
		return float
	}
	return otherwise
}

func text(value any) string {
	given, _ := value.(string)
	return given
}

func seconds(value any, otherwise float64) time.Duration {
	return time.Duration(number(value, otherwise) * float64(time.Second))
}

func parse(duration any) time.Duration {
	parsed, _ := time.ParseDuration(text(duration))
	return parsed
}

func (p *play) newWorker() *faina.Worker {
	options, _ := p.scenario["worker"].(object)
	worker := faina.NewWorker(p.client, faina.Concurrency(int(number(options["concurrency"], 4))),
		faina.Lease(seconds(options["lease"], 30)), faina.Drain(seconds(options["drain"], 5)),
		faina.Warnings(func(string, ...any) {}))
	for name, what := range p.scenario["handlers"].(object) {
		name, what := name, what.(object)
		faina.Handle(worker, name, func(ctx context.Context, input json.RawMessage) (any, error) {
			p.mutex.Lock()
			p.begun[name]++
			p.running[name]++
			if p.running[name] > p.most[name] {
				p.most[name] = p.running[name]
			}
			nth := p.begun[name]
			p.mutex.Unlock()
			output, err := p.handle(ctx, what, input, nth)
			p.mutex.Lock()
			p.running[name]--
			if why := faina.AttemptOf(ctx).Why(); why != "" {
				p.why[name] = why
			}
			p.mutex.Unlock()
			return output, err
		})
	}
	return worker
}

func (p *play) handle(ctx context.Context, what object, input json.RawMessage, nth int) (any, error) {
	attempt := faina.AttemptOf(ctx)
	switch what["do"] {
	case "echo":
		return input, nil
	case "fail":
		if float64(attempt.Number()) == number(what["until"], -1) {
			return input, nil
		}
		return nil, &faina.Failure{Message: text(what["message"]), Kind: text(what["kind"]), After: parse(what["after"])}
	case "permanent":
		return nil, faina.Permanent(text(what["message"]))
	case "snooze":
		if nth > 1 {
			return input, nil
		}
		return faina.Snooze(parse(what["for"])), nil
	case "progress":
		attempt.Progress(int(number(what["percent"], 0)), text(what["state"]), what["metadata"].(object))
		<-ctx.Done()
	case "hang":
		if float64(nth) > number(what["attempts"], 1e9) {
			return input, nil
		}
		<-ctx.Done()
	case "sleep":
		time.Sleep(seconds(what["seconds"], 0))
		return input, nil
	case "subtasks":
		if attempt.Task.Phase == "resume" {
			tasks, err := attempt.Subtasks(ctx)
			outputs := []json.RawMessage{}
			for _, task := range tasks {
				outputs = append(outputs, task.Output)
			}
			return outputs, err
		}
		var tasks []faina.Submission
		for _, task := range what["tasks"].([]any) {
			tasks = append(tasks, submission(task.(object)))
		}
		return faina.Subtasks(tasks...), nil
	case "size":
		return strings.Repeat("x", int(number(what["bytes"], 0))), nil
	case "trace":
		return attempt.Task.Traceparent, nil
	case "background":
		return faina.Background("elsewhere", time.Hour), nil
	}
	return nil, nil
}

func submission(body object) faina.Submission {
	made := faina.Submission{Type: text(body["type"]), Input: body["input"]}
	for name, value := range body {
		if name != "type" && name != "input" {
			made.Options = append(made.Options, faina.Set(name, value))
		}
	}
	return made
}

func (p *play) id(value any) any {
	if name, is := value.(string); is && strings.HasPrefix(name, "$") {
		return p.names[name[1:]]
	}
	return value
}

func (p *play) fits(got, expected any) bool {
	switch expected := expected.(type) {
	case object:
		members, is := got.(object)
		for name, value := range expected {
			if !is || !p.fits(members[name], value) {
				return false
			}
		}
		return is
	case []any:
		items, is := got.([]any)
		if !is || len(items) != len(expected) {
			return false
		}
		for i := range expected {
			if !p.fits(items[i], expected[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, p.id(expected))
}

func raw(task *faina.Task, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return read(task.Raw), nil
}

func (p *play) call(ctx context.Context, step object) (any, error) {
	named := func(name string) string { return text(p.id(step[name])) }
	switch {
	case step["submit"] != nil:
		made := submission(step["submit"].(object))
		return raw(p.client.Submit(ctx, made.Type, made.Input, made.Options...))
	case step["submitMany"] != nil:
		var tasks []faina.Submission
		for _, body := range step["submitMany"].([]any) {
			tasks = append(tasks, submission(body.(object)))
		}
		items, err := p.client.SubmitMany(ctx, tasks)
		got := []any{}
		for _, item := range items {
			one := object{"id": item.ID, "existing": item.Existing}
			if item.Problem != nil {
				one = object{"code": item.Problem.Code}
			}
			got = append(got, one)
		}
		return got, err
	case step["get"] != nil:
		return raw(p.client.Get(ctx, named("get")))
	case step["cancel"] != nil:
		return raw(p.client.Cancel(ctx, named("cancel"), ""))
	case step["retry"] != nil:
		return raw(p.client.Retry(ctx, named("retry"), ""))
	case step["wait"] != nil:
		return raw(p.client.Wait(ctx, named("wait")))
	case step["list"] != nil:
		filter := faina.Filter{}
		for name, value := range step["list"].(object) {
			filter[name] = text(value)
		}
		ids := []any{}
		err := p.client.List(ctx, filter, func(task *faina.Task) bool {
			ids = append(ids, task.ID)
			return true
		})
		return sorted(ids), err
	}
	return p.callRarer(ctx, step)
}

func (p *play) callRarer(ctx context.Context, step object) (any, error) {
	named := func(name string) string { return text(p.id(step[name])) }
	filter := func(name string) faina.Filter {
		made := faina.Filter{}
		for name, value := range step[name].(object) {
			made[name] = text(value)
		}
		return made
	}
	switch {
	case step["result"] != nil:
		var value json.RawMessage
		err := p.client.Result(ctx, named("result"), &value)
		return again(value, err)
	case step["lastEvent"] != nil:
		events, err := p.client.Events(ctx, named("lastEvent"))
		if err != nil {
			return nil, err
		}
		return again(events[0], nil)
	case step["explain"] != nil:
		return again(p.client.Explain(ctx, named("explain")))
	case step["children"] != nil:
		tasks, err := p.client.Children(ctx, named("children"))
		return again(append([]*faina.Task{}, tasks...), err)
	case step["update"] != nil:
		var changes []faina.SubmitOption
		body := step["update"].(object)
		for name, value := range body {
			if name != "id" {
				changes = append(changes, faina.Set(name, value))
			}
		}
		return raw(p.client.Update(ctx, text(p.id(body["id"])), changes...))
	case step["countMatches"] != nil:
		return again(p.client.CountMatches(ctx, "cancel", filter("countMatches")))
	case step["cancelAll"] != nil:
		operation, err := p.client.CancelAll(ctx, filter("cancelAll"), "")
		if err != nil {
			return nil, err
		}
		return again(p.client.WaitOperation(ctx, operation.ID))
	case step["operations"] != nil:
		return again(p.client.Operations(ctx))
	case step["delete"] != nil:
		return nil, p.client.Delete(ctx, named("delete"))
	case step["schedule"] != nil:
		body := step["schedule"].(object)
		return nil, p.client.SetSchedule(ctx, text(body["name"]), text(body["schedule"]), text(body["timezone"]),
			faina.Submission{Type: text(body["type"]), Input: body["input"]}, faina.CatchUp(text(body["catchUp"])),
			faina.Paused(body["paused"] == true))
	case step["schedules"] != nil:
		schedules, err := p.client.Schedules(ctx)
		return again(append([]*faina.Schedule{}, schedules...), err)
	case step["runSchedule"] != nil:
		return raw(p.client.RunSchedule(ctx, named("runSchedule")))
	case step["removeSchedule"] != nil:
		return nil, p.client.RemoveSchedule(ctx, named("removeSchedule"))
	case step["emit"] != nil:
		body := step["emit"].(object)
		return again(p.client.Emit(ctx, text(body["type"]), body["data"], text(body["id"])))
	}
	return nil, fmt.Errorf("unknown step %v", step)
}

// again is a value as it is in JSON.
func again(value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	return read(encoded), err
}

func sorted(ids []any) []any {
	sort.Slice(ids, func(a, b int) bool { return text(ids[a]) < text(ids[b]) })
	return ids
}

func (p *play) until(step object, fact func() (any, bool)) error {
	end := time.Now().Add(patience)
	for {
		got, is := fact()
		if is {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%v: got %v", step, got)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *play) step(step object) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	expected := step["expect"]
	counted := func(name string, counts map[string]int) error {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if got := counts[text(step[name].(object)["type"])]; float64(got) != number(expected, 0) {
			return fmt.Errorf("%v: got %d", step, got)
		}
		return nil
	}
	switch {
	case step["start"] != nil:
		p.worker = p.newWorker()
		return p.worker.Start()
	case step["stop"] != nil:
		p.worker.Stop(5 * time.Second)
		return nil
	case step["restart"] != nil:
		if step["restart"] == "kill" {
			p.server.Kill()
		} else {
			p.server.Stop()
		}
		return p.server.Begin()
	case step["server"] == "pause":
		p.server.Pause()
		return nil
	case step["server"] == "resume":
		p.server.Resume()
		return nil
	case step["until"] != nil:
		return p.until(step, func() (any, bool) {
			got, err := raw(p.client.Get(ctx, text(p.id(step["until"]))))
			return got, err == nil && p.fits(got, expected)
		})
	case step["count"] != nil:
		return counted("count", p.begun)
	case step["max"] != nil:
		return counted("max", p.most)
	case step["seen"] != nil:
		return p.until(step, func() (any, bool) {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			got := p.why[text(step["seen"].(object)["type"])]
			return got, got == expected
		})
	}
	got, err := p.call(ctx, step)
	if code, is := step["error"]; is {
		var problem *faina.Error
		if !errors.As(err, &problem) || problem.Code != code {
			return fmt.Errorf("%v: got %v, %v", step, got, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w", step, err)
	}
	if name, is := step["as"].(string); is {
		p.names[name] = text(got.(object)["id"])
	}
	if step["list"] != nil {
		ids := []any{}
		for _, name := range expected.([]any) {
			ids = append(ids, p.id(name))
		}
		expected = sorted(ids)
	}
	if _, is := step["expect"]; is && !p.fits(got, expected) {
		return fmt.Errorf("%v: got %v", step, got)
	}
	return nil
}

func run(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	scenario := read(content).(object)
	store := ""
	if scenario["store"] == "file" {
		store = "sqlite:faina.db"
	}
	server, err := fainatest.Start(store)
	if err != nil {
		return err
	}
	defer server.Close()
	p := &play{scenario: scenario, server: server, client: server.Client(), names: map[string]string{},
		begun: map[string]int{}, running: map[string]int{}, most: map[string]int{}, why: map[string]string{}}
	defer func() {
		if p.worker != nil {
			p.worker.Stop(200 * time.Millisecond)
		}
	}()
	for _, step := range scenario["steps"].([]any) {
		if err := p.step(step.(object)); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	passed, failed := 0, 0
	for _, path := range os.Args[1:] {
		if err := run(path); err != nil {
			failed++
			fmt.Printf("FAILED %s\n  %v\n", filepath.Base(path), err)
		} else {
			passed++
		}
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
