package fault

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/network/faults"
)

// The actions of requests over HTTP.
const (
	HTTPAbort   = "abort"
	HTTPDelay   = "delay"
	HTTPReplace = "replace"
	HTTPPatch   = "patch"
)

// httpActions lists the actions on requests over HTTP.
var httpActions = []Action{
	{Name: HTTPAbort, Does: "end the connection in place of an answer", Lasts: LastingAlways},
	{Name: HTTPDelay, Does: "let answers come later", Lasts: LastingAlways, Fields: []string{"delay"}},
	{Name: HTTPReplace, Does: "replace the status or the body of answers", Lasts: LastingAlways, Fields: []string{"code", "body"}},
	{Name: HTTPPatch, Does: "change requests, or headers and JSON of answers", Lasts: LastingAlways, Fields: []string{"requestHeaders", "query", "requestPatch", "headers", "answerPatch"}},
}

// HTTP is a fault of requests over HTTP that programs in containers send.
type HTTP struct {
	// Action is abort, delay, replace or patch.
	Action  string `yaml:"action,omitempty"`
	Between `yaml:",inline"`
	// Methods are the methods of the requests; default all.
	Methods []string `yaml:"methods,omitempty"`
	// Path is the path of the requests, in which * stands for any text; default all.
	Path string `yaml:"path,omitempty"`
	// Port is the port that the server listens on; default all.
	Port int `yaml:"port,omitempty"`
	// Delay is how much later the answer comes.
	Delay Duration `yaml:"delay,omitempty"`
	// Code is the status in place of the answer's.
	Code int `yaml:"code,omitempty"`
	// Body is the body in place of the answer's.
	Body *string `yaml:"body,omitempty"`
	// RequestHeaders are headers, NAME=VALUE, that requests get in place of their own.
	RequestHeaders []string `yaml:"requestHeaders,omitempty"`
	// Query are parameters, NAME=VALUE, that requests get in place of their own.
	Query []string `yaml:"query,omitempty"`
	// RequestPatch is a patch of the JSON in requests: an object is merged (RFC 7396), a list has operations (RFC 6902).
	RequestPatch string `yaml:"requestPatch,omitempty"`
	// Headers are headers, NAME=VALUE, that answers get in place of their own.
	Headers []string `yaml:"headers,omitempty"`
	// AnswerPatch is a patch of the JSON in answers, written as requestPatch.
	AnswerPatch string `yaml:"answerPatch,omitempty"`

	// Served is what is done in place of the fields above, to requests to the pods of PodsFrom.
	Served *faults.HTTP `yaml:"-"`
}

func (h *HTTP) check(c *checker) {
	c.row(h, h.Action)
	h.Between.check(c)
	switch h.Action {
	case HTTPDelay:
		c.positive("delay", h.Delay)
	case HTTPReplace:
		if h.Code == 0 && h.Body == nil {
			c.problem("code", "is missing, and body too: say what to replace")
		}
		if h.Code != 0 && (h.Code < 200 || h.Code > 599) {
			c.problem("code", "is from 200 to 599: %d", h.Code)
		}
	}
	for i, method := range h.Methods {
		h.Methods[i] = strings.ToUpper(method)
	}
	if h.Port < 0 || h.Port > 65535 {
		c.problem("port", "is from 1 to 65535: %d", h.Port)
	}
	h.checkPatch(c)
}

// checkPatch checks the fields of a patch.
func (h *HTTP) checkPatch(c *checker) {
	for _, list := range []struct {
		field string
		pairs []string
	}{{"requestHeaders", h.RequestHeaders}, {"query", h.Query}, {"headers", h.Headers}} {
		for _, text := range list.pairs {
			if name, _, ok := strings.Cut(text, "="); !ok || name == "" || strings.ContainsAny(text, "\r\n") {
				c.problem(list.field, "%q is not NAME=VALUE", text)
			}
		}
	}
	for _, patch := range []struct{ field, text string }{{"requestPatch", h.RequestPatch}, {"answerPatch", h.AnswerPatch}} {
		if patch.text == "" {
			continue
		}
		if _, err := faults.ParsePatch(patch.text); err != nil {
			c.problem(patch.field, "%v", err)
		}
	}
	if h.Action == HTTPPatch && h.Served == nil && len(h.RequestHeaders)+len(h.Query)+len(h.Headers) == 0 && h.RequestPatch == "" && h.AnswerPatch == "" {
		c.problem("headers", "is missing, and so are requestHeaders, query, requestPatch and answerPatch: say what to change")
	}
}

func (h *HTTP) title() string {
	text := map[string]string{HTTPAbort: "abort requests", HTTPDelay: fmt.Sprintf("delay requests by %v", time.Duration(h.Delay)), HTTPReplace: "replace answers", HTTPPatch: "change requests or answers"}[h.Action]
	if h.Code != 0 {
		text += fmt.Sprintf(" by %d", h.Code)
	}
	if len(h.Methods) > 0 {
		text += " to " + strings.Join(h.Methods, ", ")
	}
	if h.Path != "" {
		text += " of " + h.Path
	}
	return text + " " + h.Between.title() + shareOf(h.Percent)
}

func (h *HTTP) action() (Action, bool) { return find(httpActions, h.Action) }
func (h *HTTP) needs() Needs           { return Needs{} }

func (h *HTTP) inject(ctx context.Context, env *Env) (injected, error) {
	r := &faults.Rule{Title: h.title(), Direction: faults.Both, Percent: cmp.Or(h.Percent, 100), HTTP: h.rule()}
	if err := h.Between.rule(ctx, env, r); err != nil {
		return nil, err
	}
	if h.Served != nil {
		r.Direction, r.HTTP = faults.From, h.Served
	}
	return disturb(env, r), nil
}

// rule returns what the fields do to a request.
func (h *HTTP) rule() *faults.HTTP {
	r := &faults.HTTP{Methods: h.Methods, Path: h.Path, Port: h.Port, Abort: h.Action == HTTPAbort, Delay: time.Duration(h.Delay)}
	pairs := func(texts []string) (all []faults.Pair) {
		for _, text := range texts {
			name, value, _ := strings.Cut(text, "=")
			all = append(all, faults.Pair{Name: name, Value: value})
		}
		return all
	}
	patch := func(text string) *faults.Patch {
		if text == "" {
			return nil
		}
		p, _ := faults.ParsePatch(text) // it was checked
		return p
	}
	r.Request = &faults.Change{Headers: pairs(h.RequestHeaders), Query: pairs(h.Query), JSON: patch(h.RequestPatch)}
	r.Answer = &faults.Change{Headers: pairs(h.Headers), JSON: patch(h.AnswerPatch), Status: h.Code, Body: h.Body}
	return r
}
