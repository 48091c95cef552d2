package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// request is one that was sent, and how it was answered.
type request struct {
	Resource string `json:"resource"`
	Query    string `json:"query"`
	// Status is the answer's code; 0: there was none, as while the server is down.
	Status int `json:"status"`
	// Error is why there was none.
	Error string `json:"error,omitempty"`
}

// requests keeps all that were sent, in the order of their answers.
type requests struct {
	mutex sync.Mutex
	sent  []request
}

// recorder is a transport that writes down what passes.
type recorder struct {
	requests *requests
	next     http.RoundTripper
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return &recorder{requests: r, next: next}
}

func (r *requests) all() []request {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.sent)
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(asked *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(asked)
	path := asked.URL.Path
	sent := request{Resource: path[strings.LastIndex(path, "/")+1:], Query: asked.URL.RawQuery}
	if err == nil {
		sent.Status = answer.StatusCode
	} else {
		sent.Error = err.Error()
	}
	r.requests.mutex.Lock()
	defer r.requests.mutex.Unlock()
	r.requests.sent = append(r.requests.sent, sent)
	return answer, err
}
