package faina

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Why the context of a handler was cancelled (Attempt.Why).
const (
	Cancelled = "cancelled" // the task was cancelled
	Lost      = "lost"      // another claim may hold the task
	Stopped   = "stopped"   // the worker stops
)

const (
	heartbeatMax   = 5 * time.Second // how soon a cancellation arrives
	heartbeatAgain = time.Second     // until the next one after a failure
	unregisterMax  = 5 * time.Second // of the last request of Stop
)

// The engine's words for an act that comes too late.
var late = map[string]bool{"wrong_worker": true, "task_not_claimed": true, "task_not_found": true, "task_completed": true,
	"task_failed": true, "task_already_claimed": true, "invalid_transition": true}

type outcome struct {
	act  string
	body map[string]any
}

// Snooze as the output of a handler: run the task again after this. No attempt is counted.
func Snooze(after time.Duration) any {
	return outcome{"snooze", map[string]any{"for": duration(after)}}
}

// Background as the output of a handler: the work continues elsewhere. No worker holds the task any more; it ends by a call
// of `:complete` or `:fail`, or fails after the timeout.
func Background(reason string, timeout time.Duration) any {
	return outcome{"background", map[string]any{"reason": reason, "timeout": duration(timeout)}}
}

// Subtasks as the output of a handler: wait for these tasks. When all have ended the handler runs again;
// [Attempt.Task.Phase] is then "resume".
func Subtasks(tasks ...Submission) any {
	bodies := make([]map[string]any, len(tasks))
	for i, task := range tasks {
		bodies[i] = task.body()
	}
	return outcome{"block", map[string]any{"subtasks": bodies}}
}

// SubtasksFailFast is Subtasks with which the handler runs again as soon as one of them has failed.
func SubtasksFailFast(tasks ...Submission) any {
	made := Subtasks(tasks...).(outcome)
	made.body["failFast"] = true
	return made
}

// Attempt is one run of a handler; AttemptOf returns that of a context.
type Attempt struct {
	Task    *Task
	worker  *Worker
	cancel  context.CancelFunc
	ctx     context.Context
	mutex   sync.Mutex
	why     string
	renewed time.Time
	running bool
}

type attemptKey struct{}

// AttemptOf returns the attempt whose handler got this context; nil: none.
func AttemptOf(ctx context.Context) *Attempt {
	attempt, _ := ctx.Value(attemptKey{}).(*Attempt)
	return attempt
}

// Number is 1 in the first attempt.
func (a *Attempt) Number() int { return a.Task.Attempts }

// Fence grows with each claim. Pass it on to systems that must refuse an attempt that has lost its lease.
func (a *Attempt) Fence() int64 { return a.Task.Fence }

// Why is why the context of the handler was cancelled: Cancelled, Lost or Stopped; "": it was not.
func (a *Attempt) Why() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.why
}

// Progress reports progress; returns at once. An empty state and nil metadata change nothing.
func (a *Attempt) Progress(percent int, state string, metadata map[string]any) {
	body := map[string]any{"progress": percent}
	if state != "" {
		body["state"] = state
	}
	if metadata != nil {
		body["metadata"] = metadata
	}
	a.worker.report(a, "progress", body)
}

// Log adds a line to the log of the attempt.
func (a *Attempt) Log(line string) {
	w := a.worker
	w.mutex.Lock()
	w.logs = append(w.logs, logLine{a, line})
	w.mutex.Unlock()
	w.wake(w.logged)
}

// Subtasks returns the subtasks, in the phases "resume" and "error".
func (a *Attempt) Subtasks(ctx context.Context) ([]*Task, error) {
	return a.worker.client.Children(ctx, a.Task.ID)
}

func (a *Attempt) stop(why string) {
	a.mutex.Lock()
	if a.why == "" {
		a.why = why
	}
	a.mutex.Unlock()
	a.cancel()
}

type held struct {
	id    string
	fence int64
}

type report struct {
	attempt *Attempt
	act     string
	body    map[string]any
}

type logLine struct {
	attempt *Attempt
	line    string
}

type handlerFunc func(ctx context.Context, task *Task) (any, error)

// Worker runs handlers for the tasks of a server. Its goroutines: one each for claims, heartbeats, reports and logs, and one
// for each running handler. An attempt ends once, in end, whatever comes first: its handler, a lost lease, the end of a
// drain.
type Worker struct {
	client      *Client
	name        string
	concurrency int
	prefetch    int
	lease       time.Duration
	drain       time.Duration
	namespaces  []string
	services    []string
	logf        func(format string, args ...any)
	types       []string
	handlers    map[string]handlerFunc
	onError     map[string]handlerFunc
	extract     func(ctx context.Context, traceparent string) context.Context

	mutex   sync.Mutex
	held    map[held]*Attempt
	reports []report
	sending bool
	logs    []logLine
	changed chan struct{} // something ended
	queued  chan struct{} // there are reports
	logged  chan struct{} // there are log lines
	slots   chan struct{}
	waiting chan *Attempt // claimed, in the order of the claims

	stopping, stopped context.Context
	stop, finish      context.CancelFunc
	root              context.Context
}

// WorkerOption changes a Worker.
type WorkerOption func(*Worker)

// Concurrency is how many tasks run at once; 10 by default.
func Concurrency(count int) WorkerOption { return func(w *Worker) { w.concurrency = count } }

// Prefetch is how many tasks are claimed ahead; by default as many as run at once, at most 100.
func Prefetch(count int) WorkerOption { return func(w *Worker) { w.prefetch = count } }

// WorkerName is by default host, process and a random number.
func WorkerName(name string) WorkerOption { return func(w *Worker) { w.name = name } }

// Lease is how long a claim holds a task; 30 seconds by default. It is renewed every third of that.
func Lease(lease time.Duration) WorkerOption { return func(w *Worker) { w.lease = lease } }

// Drain is how long running tasks may take to finish after a stop; 25 seconds by default.
func Drain(drain time.Duration) WorkerOption { return func(w *Worker) { w.drain = drain } }

// Namespaces are those of which tasks are claimed; by default all that the token may see.
func Namespaces(names ...string) WorkerOption { return func(w *Worker) { w.namespaces = names } }

// Services are the resources that this worker can reach; by default all.
func Services(names ...string) WorkerOption { return func(w *Worker) { w.services = names } }

// Warnings gets what goes wrong besides; log.Printf by default.
func Warnings(logf func(format string, args ...any)) WorkerOption {
	return func(w *Worker) { w.logf = logf }
}

// ExtractTrace makes the context of a handler from the trace context of its attempt, or else of the submit.
func ExtractTrace(extract func(ctx context.Context, traceparent string) context.Context) WorkerOption {
	return func(w *Worker) { w.extract = extract }
}

// NewWorker makes a worker; Handle adds its handlers.
func NewWorker(client *Client, options ...WorkerOption) *Worker {
	host, _ := os.Hostname()
	w := &Worker{client: client, name: fmt.Sprintf("%s-%d-%08x", host, os.Getpid(), rand.New(rand.NewSource(time.Now().UnixNano())).Uint32()),
		concurrency: 10, prefetch: -1, lease: 30 * time.Second, drain: 25 * time.Second, logf: log.Printf,
		handlers: map[string]handlerFunc{}, onError: map[string]handlerFunc{}, held: map[held]*Attempt{},
		changed: make(chan struct{}, 1), queued: make(chan struct{}, 1), logged: make(chan struct{}, 1)}
	for _, option := range options {
		option(w)
	}
	if w.prefetch < 0 {
		w.prefetch = w.concurrency
		if w.prefetch > 100 {
			w.prefetch = 100
		}
	}
	w.slots = make(chan struct{}, w.concurrency)
	w.waiting = make(chan *Attempt, w.concurrency+w.prefetch)
	w.root = context.Background()
	w.stopping, w.stop = context.WithCancel(w.root)
	w.stopped, w.finish = context.WithCancel(w.root)
	return w
}

func wrap[Input any](handler func(ctx context.Context, input Input) (any, error)) handlerFunc {
	return func(ctx context.Context, task *Task) (any, error) {
		var input Input
		if len(task.Input) > 0 {
			if err := json.Unmarshal(task.Input, &input); err != nil {
				return nil, &Failure{Message: fmt.Sprintf("the input is no %T: %v", input, err), Kind: "invalid_input", Permanent: true}
			}
		}
		return handler(ctx, input)
	}
}

// Handle registers the handler of a type. The input is read into a value of type Input; what the handler returns is the
// output. AttemptOf(ctx) has the task.
func Handle[Input any](w *Worker, taskType string, handler func(ctx context.Context, input Input) (any, error)) {
	if _, has := w.handlers[strings.ToLower(taskType)]; has {
		panic(fmt.Sprintf("faina: %q has a handler already", taskType))
	}
	w.types = append(w.types, taskType)
	w.handlers[strings.ToLower(taskType)] = wrap(handler)
}

// HandleError registers what runs when a subtask has not completed; without it the task fails.
func HandleError[Input any](w *Worker, taskType string, handler func(ctx context.Context, input Input) (any, error)) {
	w.onError[strings.ToLower(taskType)] = wrap(handler)
}

// RunInline runs the handler of a type once, in this goroutine and without a server, and returns what it returns. What the
// handler reports is dropped. For tests.
func (w *Worker) RunInline(ctx context.Context, taskType string, input any) (any, error) {
	handler, has := w.handlers[strings.ToLower(taskType)]
	if !has {
		return nil, fmt.Errorf("%q has no handler", taskType)
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	task := &Task{ID: "00000000-0000-7000-8000-000000000000", Type: taskType, Namespace: "default", Input: encoded,
		Attempts: 1, Fence: 1, Phase: "start", Status: "running"}
	silent := &Worker{client: w.client, logf: w.logf, queued: make(chan struct{}, 1), logged: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	attempt := &Attempt{Task: task, worker: silent, cancel: cancel, ctx: ctx}
	return handler(context.WithValue(ctx, attemptKey{}, attempt), task)
}

// Run works until ctx ends, SIGTERM or Ctrl-C, and then drains.
func (w *Worker) Run(ctx context.Context) error {
	ctx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	if err := w.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	w.Stop(w.drain)
	return nil
}

// Start begins to work; returns at once.
func (w *Worker) Start() error {
	if len(w.types) == 0 {
		return errors.New("the worker has no handlers: register them with faina.Handle")
	}
	go w.claims()
	go w.runs()
	go w.heartbeats()
	go w.sends()
	go w.sendLogs()
	return nil
}

// Stop claims nothing more, returns tasks that have not started, waits for running ones, and stops the rest. The attempts
// of these are not counted.
func (w *Worker) Stop(drain time.Duration) {
	if w.stopped.Err() != nil {
		return
	}
	w.stop()
	for _, attempt := range w.all() {
		w.mutex.Lock()
		waits := !attempt.running
		w.mutex.Unlock()
		if waits {
			w.end(attempt, "release", map[string]any{})
		}
	}
	deadline := time.Now().Add(drain)
	for len(w.all()) > 0 && time.Now().Before(deadline) {
		w.await(w.changed, time.Until(deadline))
	}
	for _, attempt := range w.all() {
		w.end(attempt, "snooze", map[string]any{"for": "0s"})
		attempt.stop(Stopped)
	}
	for last := time.Now().Add(5 * time.Second); time.Now().Before(last) && w.unsent(); {
		time.Sleep(5 * time.Millisecond)
	}
	w.finish()
	ctx, cancel := context.WithTimeout(w.root, unregisterMax)
	defer cancel()
	if err := w.client.do(ctx, request{method: "DELETE", path: "/workers/" + w.name, once: true}, nil); err != nil {
		w.logf("faina: could not unregister: %v", err)
	}
}

func (w *Worker) unsent() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.reports) > 0 || w.sending
}

func (w *Worker) all() []*Attempt {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	attempts := make([]*Attempt, 0, len(w.held))
	for _, attempt := range w.held {
		attempts = append(attempts, attempt)
	}
	return attempts
}

func (w *Worker) wake(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

func (w *Worker) await(channel chan struct{}, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-channel:
	case <-timer.C:
	}
}

// ------------------------------------------------------------------------------------ claims

func (w *Worker) claims() {
	failures := 0
	for w.stopping.Err() == nil {
		w.mutex.Lock()
		room := w.concurrency + w.prefetch - len(w.held)
		w.mutex.Unlock()
		// Not a few at a time: while half of the prefetch is left, no slot is free.
		if room <= w.prefetch/2 {
			w.await(w.changed, time.Second)
			continue
		}
		if room > 1000 {
			room = 1000
		}
		body := map[string]any{"workerId": w.name, "types": w.types, "limit": room, "leaseSeconds": w.lease.Seconds(), "waitSeconds": 20}
		if w.namespaces != nil {
			body["namespaces"] = w.namespaces
		}
		if w.services != nil {
			body["services"] = w.services
		}
		var answer struct{ Tasks []*Task }
		err := w.client.do(w.stopping, request{method: "POST", path: "/claims", body: body, once: true, extra: 20 * time.Second}, &answer)
		if err != nil {
			if w.stopping.Err() != nil {
				return
			}
			failures++
			if failures == 1 || failures%10 == 0 {
				w.logf("faina: can't claim tasks: %v", err)
			}
			shift := failures
			if shift > 6 {
				shift = 6
			}
			pause := time.Duration(float64(100*time.Millisecond<<shift) * (0.5 + rand.Float64()/2))
			select {
			case <-time.After(pause):
			case <-w.stopping.Done():
			}
			continue
		}
		failures = 0
		for _, task := range answer.Tasks {
			w.accept(task)
		}
	}
}

func (w *Worker) accept(task *Task) {
	ctx, cancel := context.WithCancel(w.root)
	attempt := &Attempt{Task: task, worker: w, cancel: cancel, renewed: time.Now()}
	attempt.ctx = context.WithValue(ctx, attemptKey{}, attempt)
	w.mutex.Lock()
	w.held[held{task.ID, task.Fence}] = attempt
	w.mutex.Unlock()
	if w.stopping.Err() != nil || w.handlers[strings.ToLower(task.Type)] == nil {
		w.end(attempt, "release", map[string]any{})
		return
	}
	w.waiting <- attempt
}

// runs starts the attempts in their order, each when a slot is free.
func (w *Worker) runs() {
	for {
		select {
		case w.slots <- struct{}{}:
		case <-w.stopped.Done():
			return
		}
		select {
		case attempt := <-w.waiting:
			go func() {
				defer func() { <-w.slots }()
				w.attempt(attempt, w.handlers[strings.ToLower(attempt.Task.Type)])
			}()
		case <-w.stopped.Done():
			return
		}
	}
}

// ------------------------------------------------------------------------------------ attempts

func (w *Worker) attempt(attempt *Attempt, handler handlerFunc) {
	w.mutex.Lock()
	_, isHeld := w.held[held{attempt.Task.ID, attempt.Task.Fence}]
	attempt.running = isHeld
	w.mutex.Unlock()
	if !isHeld {
		return
	}
	w.report(attempt, "start", map[string]any{"leaseSeconds": w.lease.Seconds()})
	output, err := w.call(attempt, handler)
	switch {
	case attempt.Why() != "": // what it returned may be half of the work
		w.end(attempt, "", nil)
	case err != nil:
		w.end(attempt, "fail", map[string]any{"error": asFailure(err).body()})
	default:
		w.complete(attempt, output)
	}
}

// Subtasks continue the trace of the attempt, unless they have one of their own.
func continueTrace(subtasks any, traceparent string) {
	bodies, _ := subtasks.([]map[string]any)
	for _, body := range bodies {
		metadata, _ := body["metadata"].(map[string]any)
		_, hasParent := metadata["traceparent"]
		_, isGiven := body["traceparent"]
		if traceparent != "" && !hasParent && !isGiven {
			body["traceparent"] = traceparent
		}
	}
}

func (w *Worker) complete(attempt *Attempt, output any) {
	if given, is := output.(outcome); is {
		continueTrace(given.body["subtasks"], attempt.Task.Traceparent)
		w.end(attempt, given.act, given.body)
		return
	}
	body := map[string]any{}
	if output != nil {
		text, err := encode(output)
		if err != nil {
			failure := &Failure{Message: fmt.Sprintf("the handler returned what is no JSON: %v", err), Kind: "invalid_output", Permanent: true}
			w.end(attempt, "fail", map[string]any{"error": failure.body()})
			return
		}
		body["output"] = json.RawMessage(text)
	}
	w.end(attempt, "complete", body)
}

func (w *Worker) call(attempt *Attempt, handler handlerFunc) (output any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &Failure{Message: fmt.Sprint(cause), Kind: "panic", Detail: map[string]string{"stack": string(debug.Stack())}}
		}
	}()
	ctx := attempt.ctx
	parent := attempt.Task.Traceparent
	if parent == "" {
		parent, _ = attempt.Task.Metadata["traceparent"].(string)
	}
	if parent != "" && w.extract != nil {
		ctx = w.extract(ctx, parent)
	}
	if attempt.Task.Phase == "error" {
		handler = w.onError[strings.ToLower(attempt.Task.Type)]
		if handler == nil {
			return nil, w.subtaskFailure(attempt)
		}
	}
	return handler(ctx, attempt.Task)
}

func (w *Worker) subtaskFailure(attempt *Attempt) error {
	tasks, err := attempt.Subtasks(attempt.ctx)
	if err != nil {
		return err
	}
	var bad []string
	for _, task := range tasks {
		if task.Status != "completed" && len(bad) < 5 {
			bad = append(bad, fmt.Sprintf("%s %s is %s", task.Type, task.ID, task.Status))
		}
	}
	return &Failure{Message: "a subtask has not completed: " + strings.Join(bad, ", "), Kind: "subtask_failed", Permanent: true}
}

func asFailure(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return &Failure{Message: err.Error(), Kind: fmt.Sprintf("%T", err)}
}

// end ends the attempt, unless it has ended. An empty act reports nothing.
func (w *Worker) end(attempt *Attempt, act string, body map[string]any) {
	key := held{attempt.Task.ID, attempt.Task.Fence}
	w.mutex.Lock()
	_, isHeld := w.held[key]
	delete(w.held, key)
	w.mutex.Unlock()
	if isHeld && act != "" {
		w.report(attempt, act, body)
	}
	attempt.cancel()
	w.wake(w.changed)
}

// ------------------------------------------------------------------------------------ reports

func (w *Worker) report(attempt *Attempt, act string, body map[string]any) {
	body["workerId"], body["fence"] = w.name, attempt.Task.Fence
	w.mutex.Lock()
	w.reports = append(w.reports, report{attempt, act, body})
	w.mutex.Unlock()
	w.wake(w.queued)
}

func (w *Worker) sends() {
	for {
		w.mutex.Lock()
		count := len(w.reports)
		if count > 500 {
			count = 500
		}
		batch := append([]report(nil), w.reports[:count]...)
		w.reports = w.reports[count:]
		w.sending = count > 0
		w.mutex.Unlock()
		if count == 0 {
			select {
			case <-w.queued:
				continue
			case <-w.stopped.Done():
				return
			}
		}
		w.send(withoutStarts(batch))
	}
}

// withoutStarts leaves out starts whose outcome is in the same request: they have no reader.
func withoutStarts(batch []report) []report {
	ended := map[*Attempt]bool{}
	for _, one := range batch {
		if one.act == "complete" || one.act == "fail" {
			ended[one.attempt] = true
		}
	}
	kept := batch[:0]
	for _, one := range batch {
		if one.act != "start" || !ended[one.attempt] {
			kept = append(kept, one)
		}
	}
	return kept
}

// send sends until the server has answered. All acts may be repeated: their fences make them harmless.
func (w *Worker) send(batch []report) {
	for failures := 0; len(batch) > 0; {
		err := w.try(batch)
		if err == nil {
			return
		}
		var problem *Error
		if !errors.As(err, &problem) {
			problem = &Error{Code: "invalid_output", Detail: err.Error()}
		}
		switch {
		case len(batch) == 1 && late[problem.Code]:
			w.refused(batch[0], problem)
			return
		case problem.Code == "unavailable" || problem.Status == 429 || problem.Status == 503:
			failures++
			if failures == 1 || failures%10 == 0 {
				w.logf("faina: can't report outcomes: %v", err)
			}
			if w.stopped.Err() != nil {
				return
			}
			time.Sleep(200 * time.Millisecond * time.Duration(failures%20))
		case len(batch) > 1: // one act may be what the server refuses
			for _, one := range batch {
				w.send([]report{one})
			}
			return
		default:
			one := batch[0]
			w.logf("faina: task %s: %s was refused: %v", one.attempt.Task.ID, one.act, err)
			if one.act == "fail" || one.act == "start" || one.act == "progress" {
				return
			}
			failure := &Failure{Message: fmt.Sprintf("%s was refused: %v", one.act, err), Kind: problem.Code, Permanent: true}
			batch = []report{{one.attempt, "fail", map[string]any{"workerId": w.name, "fence": one.attempt.Task.Fence, "error": failure.body()}}}
		}
	}
}

func (w *Worker) try(batch []report) error {
	if len(batch) == 1 {
		one := batch[0]
		return w.client.do(w.root, request{method: "POST", path: "/tasks/" + one.attempt.Task.ID + ":" + one.act, body: one.body, repeat: true}, nil)
	}
	items := make([]map[string]any, len(batch))
	for i, one := range batch {
		items[i] = map[string]any{"id": one.attempt.Task.ID, "act": one.act, "body": one.body}
	}
	var answer struct{ Items []Error }
	if err := w.client.do(w.root, request{method: "POST", path: "/acts", body: map[string]any{"items": items}, repeat: true}, &answer); err != nil {
		return err
	}
	// An item that was refused for another reason than lateness is sent again by itself.
	for i := range answer.Items {
		if late[answer.Items[i].Code] {
			w.refused(batch[i], &answer.Items[i])
		} else if answer.Items[i].Code != "" {
			w.send([]report{batch[i]})
		}
	}
	return nil
}

// refused: the engine doesn't accept an act of this attempt. The lease was lost, or the task was cancelled.
func (w *Worker) refused(one report, problem *Error) {
	if one.act == "start" || one.act == "progress" {
		w.lose(one.attempt, Lost)
	} else if one.act != "release" {
		w.logf("faina: task %s: the %s of attempt %d came too late: %v", one.attempt.Task.ID, one.act, one.attempt.Number(), problem)
	}
}

func (w *Worker) lose(attempt *Attempt, why string) {
	w.mutex.Lock()
	_, isHeld := w.held[held{attempt.Task.ID, attempt.Task.Fence}]
	running := attempt.running
	w.mutex.Unlock()
	if !isHeld {
		return
	}
	attempt.stop(why)
	if !running {
		w.end(attempt, "", nil)
	}
}

// ------------------------------------------------------------------------------------ leases

func (w *Worker) heartbeats() {
	host, _ := os.Hostname()
	for w.stopped.Err() == nil {
		begin := time.Now()
		next := begin.Add(least(w.lease/3, heartbeatMax))
		attempts := unstopped(w.all())
		tasks := make([]map[string]any, len(attempts))
		for i, attempt := range attempts {
			tasks[i] = map[string]any{"id": attempt.Task.ID, "fence": attempt.Task.Fence}
		}
		body := map[string]any{"hostname": host, "poolSize": w.concurrency, "types": w.types, "leaseSeconds": w.lease.Seconds(), "tasks": tasks}
		if w.services != nil {
			body["services"] = w.services
		}
		var answer struct {
			Losses []struct {
				ID    string
				Fence int64
				Why   string
			}
		}
		// A server that doesn't answer must not delay the end of handlers whose lease ends.
		timeout := least(w.lease/3, w.leaseLeft(attempts))
		if timeout < 100*time.Millisecond {
			timeout = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(w.stopped, timeout)
		err := w.client.do(ctx, request{method: "PUT", path: "/workers/" + w.name, body: body, once: true}, &answer)
		cancel()
		if err != nil {
			if w.stopped.Err() != nil {
				return
			}
			w.logf("faina: can't renew leases: %v", err)
			for _, attempt := range attempts {
				if w.leaseLeft([]*Attempt{attempt}) <= 0 {
					w.lose(attempt, Lost)
				}
			}
			next = time.Now().Add(least(least(w.lease/3, heartbeatAgain), w.leaseLeft(unstopped(attempts))))
		} else {
			for _, attempt := range attempts {
				attempt.renewed = begin
			}
			for _, loss := range answer.Losses {
				for _, attempt := range attempts {
					if attempt.Task.ID == loss.ID && attempt.Task.Fence == loss.Fence {
						w.lose(attempt, loss.Why)
					}
				}
			}
		}
		select {
		case <-time.After(time.Until(next)):
		case <-w.stopped.Done():
		}
	}
}

// leaseLeft is the time until the first of these leases is no longer safe.
func (w *Worker) leaseLeft(attempts []*Attempt) time.Duration {
	left := w.lease
	for _, attempt := range attempts {
		left = least(left, time.Until(attempt.renewed.Add(w.lease*9/10)))
	}
	return left
}

// unstopped leaves out attempts whose context was cancelled.
func unstopped(attempts []*Attempt) []*Attempt {
	var kept []*Attempt
	for _, attempt := range attempts {
		if attempt.Why() == "" {
			kept = append(kept, attempt)
		}
	}
	return kept
}

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

// ------------------------------------------------------------------------------------ logs

func (w *Worker) sendLogs() {
	for {
		select {
		case <-w.logged:
		case <-w.stopped.Done():
			return
		}
		w.mutex.Lock()
		lines := w.logs
		w.logs = nil
		w.mutex.Unlock()
		texts := map[*Attempt][]string{}
		for _, one := range lines {
			texts[one.attempt] = append(texts[one.attempt], one.line)
		}
		for attempt, all := range texts {
			body := map[string]any{"workerId": w.name, "fence": attempt.Task.Fence, "lines": all}
			if err := w.client.do(w.root, request{method: "POST", path: "/tasks/" + attempt.Task.ID + "/log", body: body, once: true}, nil); err != nil {
				w.logf("faina: task %s: its log was not stored: %v", attempt.Task.ID, err)
			}
		}
	}
}
