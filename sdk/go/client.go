package faina

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Task is a task as it was at one moment. Raw has all members of the answer.
type Task struct {
	ID             string          `json:"id"`
	Namespace      string          `json:"namespace"`
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Status         string          `json:"status"`
	State          string          `json:"state"`
	Progress       int             `json:"progress"`
	Priority       int             `json:"priority"`
	Input          json.RawMessage `json:"input"`
	Output         json.RawMessage `json:"output"`
	Error          *TaskError      `json:"error"`
	Metadata       map[string]any  `json:"metadata"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Attempts       int             `json:"attempts"`
	MaxAttempts    int             `json:"maxAttempts"`
	Phase          string          `json:"phase"`
	WorkerID       string          `json:"workerId"`
	Fence          int64           `json:"fence"`
	ParentID       string          `json:"parentId"`
	Version        int64           `json:"version"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	CompletedAt    *time.Time      `json:"completedAt"`
	Traceparent    string          `json:"traceparent"` // of a claim: W3C Trace Context for the handler
	Existing       bool            `json:"existing"`    // the key was in use, and this is the first task
	Raw            json.RawMessage `json:"-"`
}

// TaskError is what is stored of an attempt that has failed.
type TaskError struct {
	Message   string          `json:"message"`
	Kind      string          `json:"kind"`
	Detail    json.RawMessage `json:"detail"`
	Retryable bool            `json:"retryable"`
}

// UnmarshalJSON keeps all members in Raw.
func (t *Task) UnmarshalJSON(text []byte) error {
	type plain Task
	if err := json.Unmarshal(text, (*plain)(t)); err != nil {
		return err
	}
	t.Raw = append([]byte(nil), text...)
	return nil
}

// HasEnded tells whether the task is completed, failed, dead_letter or cancelled.
func (t *Task) HasEnded() bool {
	switch t.Status {
	case "completed", "failed", "dead_letter", "cancelled":
		return true
	}
	return false
}

// Output reads the output of a completed task into a value of type T.
func Output[T any](task *Task) (T, error) {
	var value T
	err := json.Unmarshal(task.Output, &value)
	return value, err
}

// Submission is a task to be submitted. Options sets its members by their names in the API.
type Submission struct {
	Type    string
	Input   any
	Options []SubmitOption
}

// SubmitOption sets a member of a submit.
type SubmitOption func(body map[string]any)

// Set sets any member by its name in the API.
func Set(name string, value any) SubmitOption {
	return func(body map[string]any) { body[name] = value }
}

// Key makes the submit idempotent: a second one with the same key gets the first task.
func Key(key string) SubmitOption { return Set("idempotencyKey", key) }

// KeyScope says how long the key is in use: "exists", "active", or a duration such as "1h".
func KeyScope(scope string) SubmitOption { return Set("keyScope", scope) }

// OnDuplicate says what a submit with a key in use does: "return", "reject" or "replace".
func OnDuplicate(act string) SubmitOption { return Set("onDuplicate", act) }

// Name is a label for people.
func Name(name string) SubmitOption { return Set("name", name) }

// Priority: higher ones are claimed first.
func Priority(priority int) SubmitOption { return Set("priority", priority) }

// Delay lets the task run no earlier than this long from now.
func Delay(delay time.Duration) SubmitOption { return Set("delay", duration(delay)) }

// RunAt lets the task run no earlier than this time.
func RunAt(at time.Time) SubmitOption { return Set("runAt", at.UTC().Format(time.RFC3339Nano)) }

// MaxAttempts is the number of attempts; 0 is no limit.
func MaxAttempts(count int) SubmitOption { return Set("maxAttempts", count) }

// Backoff is the wait after the first failed attempt, its growth with each attempt, and its limit.
func Backoff(base time.Duration, factor float64, max time.Duration) SubmitOption {
	return Set("retry", map[string]any{"base": duration(base), "factor": factor, "max": duration(max)})
}

// Timeout is the longest run of one attempt.
func Timeout(timeout time.Duration) SubmitOption { return Set("timeout", duration(timeout)) }

// StartBy ends the task as cancelled when it has not started after this time.
func StartBy(after time.Duration) SubmitOption { return Set("startBy", duration(after)) }

// Group: among tasks of one type and priority, groups take turns.
func Group(group string) SubmitOption { return Set("group", group) }

// Resources are held while the task runs.
func Resources(names ...string) SubmitOption { return Set("resources", names) }

// DependsOn names the tasks that must complete first.
func DependsOn(ids ...string) SubmitOption { return Set("dependsOn", ids) }

// Traceparent is the trace that the task continues (W3C Trace Context); see InjectTrace.
func Traceparent(text string) SubmitOption { return Set("traceparent", text) }

// Metadata is context about the task, for people and filters.
func Metadata(metadata map[string]any) SubmitOption { return Set("metadata", metadata) }

// Namespace is the tenant to which the task belongs.
func Namespace(namespace string) SubmitOption { return Set("namespace", namespace) }

func (s Submission) body() map[string]any {
	body := map[string]any{"type": s.Type}
	if s.Input != nil {
		body["input"] = s.Input
	}
	for _, option := range s.Options {
		option(body)
	}
	return body
}

// Submitted is the result of one of many submits: Problem is nil, or says why it was refused.
type Submitted struct {
	ID       string
	Existing bool
	Problem  *Error
}

// UnmarshalJSON reads a result or a problem.
func (s *Submitted) UnmarshalJSON(text []byte) error {
	var item struct {
		ID       string `json:"id"`
		Existing bool   `json:"existing"`
		Code     string `json:"code"`
	}
	if err := json.Unmarshal(text, &item); err != nil {
		return err
	}
	s.ID, s.Existing = item.ID, item.Existing
	if item.Code != "" {
		s.Problem = &Error{}
		return json.Unmarshal(text, s.Problem)
	}
	return nil
}

// Filter selects tasks by the names of `GET /tasks`: Filter{"type": "mail.*", "metadata.tenant": "acme"}.
type Filter map[string]string

// Operation is a stored act on many tasks.
type Operation struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Matched int64  `json:"matched"`
	Done    int64  `json:"done"`
	Failed  int64  `json:"failed"`
	Reason  string `json:"reason"`
}

// Client is a server of Faina. It may be used by several goroutines.
type Client struct {
	base      string
	token     string
	namespace string
	timeout   time.Duration
	retries   int
	http      *http.Client
	trace     func(ctx context.Context, header http.Header)
}

// ClientOption changes a Client.
type ClientOption func(*Client)

// URL is the address of the server: http://HOST:PORT, https://... or unix:PATH.
func URL(address string) ClientOption { return func(c *Client) { c.base = address } }

// Token is the bearer token.
func Token(token string) ClientOption { return func(c *Client) { c.token = token } }

// DefaultNamespace is that of submits and lists without one.
func DefaultNamespace(namespace string) ClientOption {
	return func(c *Client) { c.namespace = namespace }
}

// HTTPClient sends the requests.
func HTTPClient(client *http.Client) ClientOption { return func(c *Client) { c.http = client } }

// InjectTrace adds trace context to submits, for example with OpenTelemetry's propagator:
//
//	faina.InjectTrace(func(ctx context.Context, header http.Header) {
//		otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(header))
//	})
func InjectTrace(inject func(ctx context.Context, header http.Header)) ClientOption {
	return func(c *Client) { c.trace = inject }
}

// NewClient makes a client. Without options the address is $FAINA_URL, else http://127.0.0.1:7070; the token
// $FAINA_TOKEN; the namespace $FAINA_NAMESPACE.
func NewClient(options ...ClientOption) (*Client, error) {
	c := &Client{base: os.Getenv("FAINA_URL"), token: os.Getenv("FAINA_TOKEN"), namespace: os.Getenv("FAINA_NAMESPACE"),
		timeout: 30 * time.Second, retries: 4}
	for _, option := range options {
		option(c)
	}
	if c.base == "" {
		c.base = "http://127.0.0.1:7070"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	switch {
	case strings.HasPrefix(c.base, "unix:"):
		path := strings.TrimPrefix(c.base, "unix:")
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		c.base = "http://localhost"
	case strings.HasPrefix(c.base, "http://"), strings.HasPrefix(c.base, "https://"):
		c.base = strings.TrimRight(c.base, "/")
	default:
		return nil, fmt.Errorf("%q is not the address of a server: http://HOST:PORT, https://... or unix:PATH", c.base)
	}
	if c.http == nil {
		c.http = &http.Client{Transport: transport}
	}
	return c, nil
}

// Submit stores a task. With a key that exists the result is the first task, with Existing.
func (c *Client) Submit(ctx context.Context, taskType string, input any, options ...SubmitOption) (*Task, error) {
	body := c.withNamespace(Submission{taskType, input, options}.body())
	_, repeat := body["idempotencyKey"]
	task := &Task{}
	return task, c.do(ctx, request{method: "POST", path: "/tasks", body: body, header: c.traceHeader(ctx), repeat: repeat}, task)
}

func (c *Client) traceHeader(ctx context.Context) http.Header {
	header := http.Header{}
	if c.trace != nil {
		c.trace(ctx, header)
	}
	return header
}

// SubmitMany stores up to 10,000 tasks in one transaction. Each is accepted or refused by itself.
func (c *Client) SubmitMany(ctx context.Context, tasks []Submission) ([]Submitted, error) {
	bodies := make([]map[string]any, len(tasks))
	repeat := true
	for i, task := range tasks {
		bodies[i] = c.withNamespace(task.body())
		_, hasKey := bodies[i]["idempotencyKey"]
		_, hasDedupe := bodies[i]["dedupe"]
		repeat = repeat && (hasKey || hasDedupe)
	}
	var answer struct{ Items []Submitted }
	err := c.do(ctx, request{method: "POST", path: "/tasks:batch", body: map[string]any{"tasks": bodies},
		header: c.traceHeader(ctx), repeat: repeat}, &answer)
	return answer.Items, err
}

// Get reads a task.
func (c *Client) Get(ctx context.Context, id string) (*Task, error) {
	return c.task(ctx, request{method: "GET", path: "/tasks/" + url.PathEscape(id)})
}

// List calls visit with each task that fulfils the filter, newest first, until visit returns false.
func (c *Client) List(ctx context.Context, filter Filter, visit func(*Task) bool) error {
	query := url.Values{"limit": {"1000"}}
	if c.namespace != "" {
		query.Set("namespace", c.namespace)
	}
	for name, value := range filter {
		query.Set(name, value)
	}
	for {
		var page struct {
			Items      []*Task
			NextCursor string
		}
		if err := c.do(ctx, request{method: "GET", path: "/tasks", query: query}, &page); err != nil {
			return err
		}
		for _, task := range page.Items {
			if !visit(task) {
				return nil
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// Wait returns the task when it has ended, or the error of ctx.
func (c *Client) Wait(ctx context.Context, id string) (*Task, error) {
	for {
		task, err := c.task(ctx, request{method: "GET", path: "/tasks/" + url.PathEscape(id) + "/wait",
			query: url.Values{"timeout": {"30s"}}, extra: 30 * time.Second})
		if err != nil || task.HasEnded() {
			return task, err
		}
	}
}

// Result reads the output of a completed task into out.
func (c *Client) Result(ctx context.Context, id string, out any) error {
	return c.do(ctx, request{method: "GET", path: "/tasks/" + url.PathEscape(id) + "/result"}, out)
}

// Children returns the subtasks of a task, oldest first.
func (c *Client) Children(ctx context.Context, id string) ([]*Task, error) {
	return pages[*Task](ctx, c, "/tasks/"+url.PathEscape(id)+"/children", url.Values{"limit": {"1000"}})
}

// Events returns the events of a task, newest first.
func (c *Client) Events(ctx context.Context, id string) ([]map[string]any, error) {
	return pages[map[string]any](ctx, c, "/tasks/"+url.PathEscape(id)+"/events", url.Values{})
}

// Explain says why the task is not running.
func (c *Client) Explain(ctx context.Context, id string) (map[string]any, error) {
	var found map[string]any
	err := c.do(ctx, request{method: "GET", path: "/tasks/" + url.PathEscape(id) + "/explain"}, &found)
	return found, err
}

// Cancel cancels a task and its subtasks. The reason may be "".
func (c *Client) Cancel(ctx context.Context, id, reason string) (*Task, error) {
	return c.task(ctx, request{method: "POST", path: "/tasks/" + url.PathEscape(id) + ":cancel",
		body: withReason(map[string]any{}, reason), repeat: true})
}

// Retry queues an ended or held task again, with its attempts at 0.
func (c *Client) Retry(ctx context.Context, id, reason string) (*Task, error) {
	return c.task(ctx, request{method: "POST", path: "/tasks/" + url.PathEscape(id) + ":retry",
		body: withReason(map[string]any{}, reason)})
}

// RetryKeepAttempts queues it again with the attempts that it has had.
func (c *Client) RetryKeepAttempts(ctx context.Context, id, reason string) (*Task, error) {
	return c.task(ctx, request{method: "POST", path: "/tasks/" + url.PathEscape(id) + ":retry",
		body: withReason(map[string]any{"resetAttempts": false}, reason)})
}

// DeleteOption changes what Delete does.
type DeleteOption string

const (
	CancelFirst DeleteOption = "cancel" // a task that has not ended is cancelled
	Purge       DeleteOption = "purge"  // the rows of the task are removed
)

// Delete deletes an ended task.
func (c *Client) Delete(ctx context.Context, id string, options ...DeleteOption) error {
	query := url.Values{}
	for _, option := range options {
		query.Set(string(option), "true")
	}
	return c.do(ctx, request{method: "DELETE", path: "/tasks/" + url.PathEscape(id), query: query}, nil)
}

// Update changes a waiting task.
func (c *Client) Update(ctx context.Context, id string, changes ...SubmitOption) (*Task, error) {
	body := map[string]any{}
	for _, change := range changes {
		change(body)
	}
	return c.task(ctx, request{method: "PATCH", path: "/tasks/" + url.PathEscape(id), body: body})
}

// Emit reports an event to the workflows, and returns the ids of the tasks that it has created. With an id that is not
// "" a repeated call does nothing twice.
func (c *Client) Emit(ctx context.Context, eventType string, data any, id string) ([]string, error) {
	body := c.withNamespace(map[string]any{"type": eventType, "data": data})
	if id != "" {
		body["id"] = id
	}
	var answer struct{ Tasks []string }
	err := c.do(ctx, request{method: "POST", path: "/events", body: body, repeat: id != ""}, &answer)
	return answer.Tasks, err
}

// CancelAll cancels all tasks that fulfil the filter, as a stored operation. RetryAll and DeleteAll likewise.
func (c *Client) CancelAll(ctx context.Context, filter Filter, reason string) (*Operation, error) {
	return c.many(ctx, "cancel", filter, reason)
}

// RetryAll retries all tasks that fulfil the filter.
func (c *Client) RetryAll(ctx context.Context, filter Filter, reason string) (*Operation, error) {
	return c.many(ctx, "retry", filter, reason)
}

// DeleteAll deletes all ended tasks that fulfil the filter.
func (c *Client) DeleteAll(ctx context.Context, filter Filter, reason string) (*Operation, error) {
	return c.many(ctx, "delete", filter, reason)
}

// CountMatches tells how many tasks an act on all tasks of the filter would find: "cancel", "retry" or "delete".
func (c *Client) CountMatches(ctx context.Context, act string, filter Filter) (int64, error) {
	var answer struct{ Matched int64 }
	err := c.do(ctx, request{method: "POST", path: "/tasks:" + act,
		body: map[string]any{"filter": c.filterBody(filter), "dryRun": true}}, &answer)
	return answer.Matched, err
}

// Operation reads a stored act on many tasks.
func (c *Client) Operation(ctx context.Context, id string) (*Operation, error) {
	operation := &Operation{}
	return operation, c.do(ctx, request{method: "GET", path: "/operations/" + url.PathEscape(id)}, operation)
}

// Operations returns the stored acts on many tasks.
func (c *Client) Operations(ctx context.Context) ([]*Operation, error) {
	return pages[*Operation](ctx, c, "/operations", url.Values{})
}

// WaitOperation returns the operation when it is no longer running, or the error of ctx.
func (c *Client) WaitOperation(ctx context.Context, id string) (*Operation, error) {
	for pause := 50 * time.Millisecond; ; pause = least(time.Second, pause*3/2) {
		operation, err := c.Operation(ctx, id)
		if err != nil || operation.Status != "running" {
			return operation, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return operation, ctx.Err()
		}
	}
}

// Schedule submits a task at each of its times.
type Schedule struct {
	Name     string          `json:"name"`
	Schedule string          `json:"schedule"`
	Timezone string          `json:"timezone"`
	Task     json.RawMessage `json:"task"`
	CatchUp  string          `json:"catchUp"`
	Overlap  string          `json:"overlap"`
	Paused   bool            `json:"paused"`
	NextAt   *time.Time      `json:"nextAt"`
	LastAt   *time.Time      `json:"lastAt"`
}

// ScheduleOption sets a member of a schedule.
type ScheduleOption func(body map[string]any)

// CatchUp says what becomes of times that were missed: "none", "one" or "all".
func CatchUp(what string) ScheduleOption { return func(body map[string]any) { body["catchUp"] = what } }

// Overlap says what happens at a time when an earlier task has not ended: "allow", "skip" or "cancel".
func Overlap(what string) ScheduleOption { return func(body map[string]any) { body["overlap"] = what } }

// Paused schedules submit nothing.
func Paused(paused bool) ScheduleOption { return func(body map[string]any) { body["paused"] = paused } }

// SetSchedule creates or replaces a schedule, which submits the task at each of its times. The timezone may be "".
func (c *Client) SetSchedule(ctx context.Context, name, schedule, timezone string, task Submission, options ...ScheduleOption) error {
	body := map[string]any{"schedule": schedule, "task": task.body()}
	if timezone != "" {
		body["timezone"] = timezone
	}
	if c.namespace != "" {
		body["namespace"] = c.namespace
	}
	for _, option := range options {
		option(body)
	}
	return c.do(ctx, request{method: "PUT", path: "/crons/" + url.PathEscape(name), body: body}, nil)
}

// Schedule reads a schedule.
func (c *Client) Schedule(ctx context.Context, name string) (*Schedule, error) {
	schedule := &Schedule{}
	return schedule, c.do(ctx, request{method: "GET", path: "/crons/" + url.PathEscape(name), query: c.namespaceQuery()}, schedule)
}

// Schedules returns all schedules.
func (c *Client) Schedules(ctx context.Context) ([]*Schedule, error) {
	return pages[*Schedule](ctx, c, "/crons", c.namespaceQuery())
}

// RunSchedule submits the task of a schedule now.
func (c *Client) RunSchedule(ctx context.Context, name string) (*Task, error) {
	return c.task(ctx, request{method: "POST", path: "/crons/" + url.PathEscape(name) + ":run", query: c.namespaceQuery()})
}

// RemoveSchedule removes a schedule. The tasks that it has created stay.
func (c *Client) RemoveSchedule(ctx context.Context, name string) error {
	return c.do(ctx, request{method: "DELETE", path: "/crons/" + url.PathEscape(name), query: c.namespaceQuery()}, nil)
}

func (c *Client) namespaceQuery() url.Values {
	query := url.Values{}
	if c.namespace != "" {
		query.Set("namespace", c.namespace)
	}
	return query
}

// pages returns all items of a list that is read in pages.
func pages[Item any](ctx context.Context, c *Client, path string, query url.Values) ([]Item, error) {
	var items []Item
	for {
		var page struct {
			Items      []Item
			NextCursor string
		}
		if err := c.do(ctx, request{method: "GET", path: path, query: query}, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == "" {
			return items, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// Do sends a request below /api/v1, for what has no method here. The answer is read into out, unless that is nil.
func (c *Client) Do(ctx context.Context, method, path string, body, out any) error {
	return c.do(ctx, request{method: method, path: path, body: body, repeat: method != "POST" && method != "PATCH"}, out)
}

func withReason(body map[string]any, reason string) map[string]any {
	if reason != "" {
		body["reason"] = reason
	}
	return body
}

func (c *Client) withNamespace(body map[string]any) map[string]any {
	if _, has := body["namespace"]; !has && c.namespace != "" {
		body["namespace"] = c.namespace
	}
	return body
}

func (c *Client) filterBody(filter Filter) map[string]any {
	names := map[string]any{}
	if c.namespace != "" {
		names["namespace"] = c.namespace
	}
	for name, value := range filter {
		names[name] = value
		if name == "all" {
			names[name] = value == "true"
		}
	}
	return names
}

func (c *Client) many(ctx context.Context, kind string, filter Filter, reason string) (*Operation, error) {
	var answer struct{ Operation *Operation }
	err := c.do(ctx, request{method: "POST", path: "/tasks:" + kind,
		body: withReason(map[string]any{"filter": c.filterBody(filter)}, reason)}, &answer)
	return answer.Operation, err
}

func (c *Client) task(ctx context.Context, r request) (*Task, error) {
	task := &Task{}
	if err := c.do(ctx, r, task); err != nil {
		return nil, err
	}
	return task, nil
}

type request struct {
	method, path string
	query        url.Values
	body         any
	header       http.Header
	repeat       bool          // the request has the same effect twice
	once         bool          // it is never repeated
	extra        time.Duration // what it waits for, besides the timeout
}

func (c *Client) do(ctx context.Context, r request, out any) error {
	var text []byte
	if r.body != nil {
		var err error
		if text, err = encode(r.body); err != nil {
			return err
		}
	}
	repeat := r.repeat || r.method == "GET" || r.method == "PUT" || r.method == "DELETE"
	for attempt := 0; ; attempt++ {
		err := c.send(ctx, r, text, out)
		var problem *Error
		if err == nil || !errors.As(err, &problem) || attempt >= c.retries || r.once || ctx.Err() != nil {
			return err
		}
		isRefused := problem.Status == 429 || problem.Status == 503
		if !isRefused && !(problem.Code == "unavailable" && (repeat || !problem.sent)) {
			return err
		}
		pause := problem.RetryAfter
		if pause == 0 {
			pause = time.Duration(float64(100*time.Millisecond<<attempt) * (0.5 + rand.Float64()/2))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// encode writes JSON without replacing <, > and &.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

func (c *Client) send(ctx context.Context, r request, text []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+r.extra)
	defer cancel()
	target := c.base + "/api/v1" + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var reader io.Reader
	if text != nil {
		reader = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	if text != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return unavailable(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return unavailable(err)
	}
	if answer.StatusCode >= 400 {
		problem := &Error{}
		if json.Unmarshal(content, problem) != nil {
			problem.Detail = string(content)
		}
		problem.Status, problem.sent = answer.StatusCode, true
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
			problem.RetryAfter = time.Duration(seconds) * time.Second
		}
		return problem
	}
	if out == nil || len(content) == 0 {
		return nil
	}
	return json.Unmarshal(content, out)
}

func unavailable(err error) error {
	return &Error{Code: "unavailable", Detail: err.Error(), sent: !errors.Is(err, syscall.ECONNREFUSED), cause: err}
}
