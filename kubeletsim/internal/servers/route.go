package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Route is a kind of request, and the answer to it.
type Route struct {
	path           *pattern
	methods        []string
	query, headers []header
	line           string
	condition      *Value

	// Delay is the time before anything else happens.
	Delay *Value
	// Calls are requests to other servers, in this order. Command runs after them.
	Calls   []Call
	Command *Command
	// set are the values that the state gets before the answer.
	set []assignment
	// Log is a line of the container's log.
	Log *Value
	// Files is the directory whose files are served; nil if none is. Beneath it, the path of the request counts from the route's
	// literal beginning.
	Files *Value
	// Fail is Reset, Close or Hang in place of an answer.
	Fail Failure
	// Exit is the exit code with which the container ends after the answer.
	Exit *Value
	// Unknown means that nothing is known of the answer.
	Unknown bool

	status, body *Value
	// code and message are the status of a call of gRPC.
	code, message *Value
	json          *tree
	answers       []header
	needs         needs
}

// Failure is how a server fails to answer.
type Failure string

// The failures: the connection is reset, is closed, or gets no answer.
const (
	Reset Failure = "reset"
	Close Failure = "close"
	Hang  Failure = "hang"
)

// Call is a request to another server.
type Call struct {
	Name      string
	Method    string
	URL, Body *Value
	headers   []header
	Timeout   time.Duration
}

// Headers computes the headers of a call.
func (c *Call) Headers(in *Input) ([]Header, error) { return compute(c.headers, in) }

// Command is a command in the container, whose output is the answer.
type Command struct {
	words  []*Value
	script *Value
	// CGI means that the output begins with headers, and that the request is in the environment.
	CGI     bool
	Timeout time.Duration
}

// Args computes the command line.
func (c *Command) Args(in *Input) ([]string, error) {
	if c.script != nil {
		text, err := c.script.Text(in)
		return []string{"sh", "-c", text}, err
	}
	var words []string
	for _, w := range c.words {
		text, err := w.Text(in)
		if err != nil {
			return nil, err
		}
		words = append(words, text)
	}
	return words, nil
}

// header is a name and a value, wanted of a request or given to an answer. Without a name, the value is a map of headers.
type header struct {
	name   string
	value  *Value
	wanted string
}

type assignment struct {
	name  string
	value *Value
}

// Header is a computed header.
type Header struct{ Name, Value string }

func compute(headers []header, in *Input) ([]Header, error) {
	var all []Header
	for _, h := range headers {
		text, err := h.value.Text(in)
		if err != nil {
			return nil, err
		}
		if h.name == "" {
			if all, err = appendHeaders(all, text); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, Header{h.name, oneLine.Replace(text)})
	}
	return all, nil
}

// oneLine makes a text the value of a header.
var oneLine = strings.NewReplacer("\r", "", "\n", " ")

// appendHeaders appends the headers of a map in JSON, whose values are texts or lists of texts.
func appendHeaders(all []Header, text string) ([]Header, error) {
	given := map[string]any{}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, errors.New("headers are no map")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		values, ok := given[name].([]any)
		if !ok {
			values = []any{given[name]}
		}
		if !headerName.MatchString(name) {
			return nil, fmt.Errorf("%q is no name of a header", name)
		}
		for _, v := range values {
			all = append(all, Header{name, oneLine.Replace(fmt.Sprint(v))})
		}
	}
	return all, nil
}

func (r *Route) allows(method string) bool {
	return len(r.methods) == 0 || slices.Contains(r.methods, method) || method == "HEAD" && slices.Contains(r.methods, "GET")
}

// asks reports whether a request has the route's query, headers and line.
func (r *Route) asks(q *Request) bool {
	has := func(of map[string]string, wanted []header) bool {
		for _, h := range wanted {
			if value, ok := of[h.name]; !ok || !matches(h.wanted, value) {
				return false
			}
		}
		return true
	}
	return has(q.Query, r.query) && has(q.Headers, r.headers) && (r.line == "" || matches(r.line, q.Body))
}

// NeedsMachine reports whether the route needs the container's files, environment, programs or network.
func (r *Route) NeedsMachine() bool {
	return r.needs.machine || r.Command != nil || len(r.Calls) > 0 || r.Files != nil
}

// constant returns the status of an answer that does not depend on anything, and has no effect.
func (r *Route) constant() (status int, ok bool) {
	if r.condition != nil || r.Delay != nil || len(r.Calls) > 0 || r.Command != nil || len(r.set) > 0 || r.Log != nil || r.Files != nil || r.Fail != "" || r.Exit != nil {
		return 0, false
	}
	if r.status == nil || r.Unknown {
		return statusOK, true
	}
	text, ok := r.status.constant()
	if !ok {
		return 0, false
	}
	n, err := intOf(text, minStatus, maxStatus)
	return int(n), err == nil
}

// The statuses of answers.
const (
	minStatus = 200
	maxStatus = 599
)

// Answer is an answer over HTTP. Status is 0 if the route does not state one.
type Answer struct {
	Status  int
	Headers []Header
	Body    string
	// HasBody means that the route states a body, and IsJSON that it does so as JSON.
	HasBody, IsJSON bool
	// Code and Message are the status of a call of gRPC.
	Code    Code
	Message string
}

// Answer computes the answer of the route, after its calls, its command and its changes of the state.
func (l *Listener) Answer(r *Route, in *Input) (*Answer, error) {
	a := &Answer{}
	if r.status != nil {
		status, err := r.status.Int(in, minStatus, maxStatus)
		if err != nil {
			return nil, err
		}
		a.Status = int(status)
	}
	var err error
	if r.code != nil {
		text, err := r.code.Text(in)
		if err != nil {
			return nil, err
		}
		if a.Code, err = codeOf(text); err != nil {
			return nil, err
		}
	}
	if r.message != nil {
		if a.Message, err = r.message.Text(in); err != nil {
			return nil, err
		}
	}
	general := slices.DeleteFunc(slices.Clone(l.headers), func(h header) bool {
		return slices.ContainsFunc(r.answers, func(own header) bool { return strings.EqualFold(own.name, h.name) })
	})
	if a.Headers, err = compute(slices.Concat(general, r.answers), in); err != nil {
		return nil, err
	}
	switch {
	case r.json != nil:
		data, err := r.json.append(nil, in, 0)
		if err != nil {
			return nil, err
		}
		a.Body, a.HasBody, a.IsJSON = string(data)+"\n", true, true
		a.Headers = append([]Header{{"Content-Type", "application/json"}}, a.Headers...)
	case r.body != nil:
		a.HasBody = true
		a.Body, err = r.body.Text(in)
	}
	return a, err
}

// Plain returns the headers of an answer for which no route is.
func (l *Listener) Plain(in *Input) ([]Header, error) { return compute(l.headers, in) }

// Rest returns the part of a request's path beneath the route's literal beginning.
func (r *Route) Rest(path string) string {
	if r.path == nil {
		return path
	}
	for _, s := range r.path.segments {
		if s.isVar {
			break
		}
		path = strings.TrimPrefix(path, "/"+s.text)
	}
	return path
}
