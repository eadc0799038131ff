package faina

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a request that failed. Code is the word of the server, such as "task_not_found"; it is "unavailable" when
// the server can't be reached.
type Error struct {
	Code       string        `json:"code"`
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	Errors     []FieldError  `json:"errors"`
	RetryAfter time.Duration `json:"-"`
	sent       bool
	cause      error
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	if e.Title != "" {
		return e.Title
	}
	return fmt.Sprintf("HTTP %d", e.Status)
}

// Unwrap returns the error of the connection, if that is the cause.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the error, or "" when it is no *Error.
func CodeOf(err error) string {
	var problem *Error
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

// Failure is why an attempt has failed. A handler returns it as its error; every other error fails the attempt, too,
// with the usual backoff.
type Failure struct {
	Message   string
	Kind      string
	Detail    any
	After     time.Duration // replaces the backoff, unless it is 0
	Permanent bool          // another attempt is useless
}

func (f *Failure) Error() string { return f.Message }

// Retry fails the attempt; the next one begins after this time, or after the usual backoff if it is 0.
func Retry(message string, after time.Duration) error {
	return &Failure{Message: message, After: after}
}

// Permanent fails the task: another attempt is useless.
func Permanent(message string) error {
	return &Failure{Message: message, Permanent: true}
}

func (f *Failure) body() map[string]any {
	body := map[string]any{"message": f.Message}
	if f.Message == "" {
		body["message"] = "the attempt has failed"
	}
	if f.Kind != "" {
		body["kind"] = f.Kind
	}
	if f.Detail != nil {
		if text, err := json.Marshal(f.Detail); err == nil {
			body["detail"] = json.RawMessage(text)
		}
	}
	if f.After > 0 {
		body["retryAfter"] = duration(f.After)
	}
	if f.Permanent {
		body["retryable"] = false
	}
	return body
}

func duration(value time.Duration) string {
	return fmt.Sprintf("%dms", value.Milliseconds())
}
