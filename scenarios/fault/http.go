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
)

// httpActions lists the actions on requests over HTTP.
var httpActions = []Action{
	{Name: HTTPAbort, Does: "end the connection in place of an answer", Lasts: LastingAlways},
	{Name: HTTPDelay, Does: "let answers come later", Lasts: LastingAlways, Fields: []string{"delay"}},
	{Name: HTTPReplace, Does: "replace the status or the body of answers", Lasts: LastingAlways, Fields: []string{"code", "body"}},
}

// HTTP is a fault of requests over HTTP that programs in containers send.
type HTTP struct {
	// Action is abort, delay or replace.
	Action  string `yaml:"action,omitempty"`
	Between `yaml:",inline"`
	// Methods are the methods of the requests; default all.
	Methods []string `yaml:"methods,omitempty"`
	// Path is the path of the requests, in which * stands for any text; default all.
	Path string `yaml:"path,omitempty"`
	// Delay is how much later the answer comes.
	Delay Duration `yaml:"delay,omitempty"`
	// Code is the status in place of the answer's.
	Code int `yaml:"code,omitempty"`
	// Body is the body in place of the answer's.
	Body *string `yaml:"body,omitempty"`
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
}

func (h *HTTP) title() string {
	text := map[string]string{HTTPAbort: "abort requests", HTTPDelay: fmt.Sprintf("delay requests by %v", time.Duration(h.Delay)), HTTPReplace: "replace answers"}[h.Action]
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
	r := &faults.Rule{Title: h.title(), Direction: faults.Both, Percent: cmp.Or(h.Percent, 100), HTTP: &faults.HTTP{
		Methods: h.Methods, Path: h.Path, Abort: h.Action == HTTPAbort, Delay: time.Duration(h.Delay), Code: h.Code, Body: h.Body,
	}}
	if err := h.Between.rule(ctx, env, r); err != nil {
		return nil, err
	}
	return disturb(env, r), nil
}
