package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikcm.dev/minikcm"
)

// The actions of the API server.
const (
	APILatency         = "latency"
	APIError           = "error"
	APIConflicts       = "conflicts"
	APITooManyRequests = "tooManyRequests"
	APIDropWatches     = "dropWatches"
	APIStale           = "stale"
	APICompact         = "compact"
	APIRestart         = "restart"
)

// restartTime is how long an API server is away that restarts.
const restartTime = Duration(5 * time.Second)

// APIServer is a fault of the API server. The scenario's own requests are not met.
type APIServer struct {
	// Action is latency, error, conflicts (writes get 409), tooManyRequests (429),
	// dropWatches, stale (gets and lists with resourceVersion=0 are answered as of the
	// fault's beginning), compact (history is forgotten now) or restart.
	Action string `yaml:"action"`
	// Verbs, Resources (pods, pods/status, deployments.apps), Namespaces, Users and
	// UserAgents (a part of them) say which requests; default all. Percent is to how
	// many of them it happens; default 100.
	Verbs      []string `yaml:"verbs"`
	Resources  []string `yaml:"resources"`
	Namespaces []string `yaml:"namespaces"`
	Users      []string `yaml:"users"`
	UserAgents []string `yaml:"userAgents"`
	Percent    int      `yaml:"percent"`
	// Delay is a latency, and Spread up to how much more by chance.
	Delay  Duration `yaml:"delay"`
	Spread Duration `yaml:"spread"`
	// Code is an error's HTTP status; default 500. Reason and Message are those of the
	// Status; default those that belong to the code. RetryAfter is after how many seconds
	// the client is to try again; default 1 for tooManyRequests.
	Code       int    `yaml:"code"`
	Reason     string `yaml:"reason"`
	Message    string `yaml:"message"`
	RetryAfter int    `yaml:"retryAfter"`
}

func (a *APIServer) check(c *checker) {
	c.action(a.Action, []string{APILatency, APIError, APIConflicts, APITooManyRequests, APIDropWatches, APIStale, APICompact, APIRestart})
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for i, verb := range a.Verbs {
		if !contains(verbs, verb) {
			c.problem(fmt.Sprintf("verbs[%d]", i), "%q is not a verb; known are %s", verb, strings.Join(verbs, ", "))
		}
	}
	selective := len(a.Verbs)+len(a.Resources)+len(a.Namespaces)+len(a.Users)+len(a.UserAgents)+a.Percent > 0
	c.only("verbs", selective && (a.Action == APICompact || a.Action == APIRestart), a.Action, APILatency, APIError, APIConflicts, APITooManyRequests, APIDropWatches, APIStale)
	c.only("delay", a.Delay != 0 || a.Spread != 0, a.Action, APILatency)
	c.only("code", a.Code != 0, a.Action, APIError)
	c.only("reason", a.Reason != "", a.Action, APIError)
	c.only("message", a.Message != "", a.Action, APIError, APIConflicts, APITooManyRequests)
	c.only("retryAfter", a.RetryAfter != 0, a.Action, APIError, APITooManyRequests)
	if a.RetryAfter < 0 {
		c.problem("retryAfter", "must not be negative: %d", a.RetryAfter)
	}
	if a.Percent < 0 || a.Percent > 100 {
		c.problem("percent", "is from 1 to 100: %d", a.Percent)
	}
	switch a.Action {
	case APILatency:
		c.positive("delay", a.Delay)
	case APIError:
		if a.Code == 0 {
			a.Code = 500
		}
		if a.Code < 400 || a.Code > 599 {
			c.problem("code", "is from 400 to 599: %d", a.Code)
		}
	case APIConflicts:
		a.Code = 409
		if len(a.Verbs) == 0 {
			a.Verbs = []string{"update", "patch"}
		}
	case APITooManyRequests:
		a.Code = 429
		a.RetryAfter = max(a.RetryAfter, 1)
	case APIRestart:
		if c.fault.For == 0 {
			c.fault.For = restartTime
		}
	}
}

func contains(list []string, text string) bool {
	for _, item := range list {
		if item == text {
			return true
		}
	}
	return false
}

func (a *APIServer) title() string {
	text := map[string]string{
		APILatency: fmt.Sprintf("slow down the API server by %v", time.Duration(a.Delay)), APIError: fmt.Sprintf("let the API server answer %d", a.Code),
		APIConflicts: "let the API server answer 409", APITooManyRequests: "let the API server answer 429", APIDropWatches: "end the watches",
		APIStale: "let the API server's cache fall behind", APICompact: "compact the history", APIRestart: "restart the API server",
	}[a.Action]
	if len(a.Verbs) > 0 && a.Action != APIConflicts {
		text += " of " + strings.Join(a.Verbs, ", ")
	}
	if len(a.Resources) > 0 {
		text += " for " + strings.Join(a.Resources, ", ")
	}
	return text
}

func (a *APIServer) lasts() bool   { return a.Action != APIDropWatches && a.Action != APICompact }
func (a *APIServer) outside() bool { return false }
func (a *APIServer) needs() Needs  { return Needs{API: a.Action != APICompact} }

func (a *APIServer) match() minikcm.APIFaultMatch {
	return minikcm.APIFaultMatch{Verbs: a.Verbs, Resources: a.Resources, Namespaces: a.Namespaces, Users: a.Users, UserAgents: a.UserAgents}
}

func (a *APIServer) inject(ctx context.Context, env *Env) (injected, error) {
	if a.Action == APICompact {
		env.note("the history was compacted")
		return nil, env.Cluster.ForgetHistory(ctx)
	}
	f := env.Cluster.APIFaults()
	for _, user := range env.Exempt {
		if !f.IsExempt(user) {
			f.Exempt(user)
		}
	}
	share := float64(a.Percent) / 100
	switch a.Action {
	case APIDropWatches:
		env.note("%d watches were ended", f.DropWatches(a.match(), share))
		return nil, nil
	case APIRestart:
		if err := env.Cluster.ForgetHistory(ctx); err != nil { // what a new process knows begins with its start
			return nil, err
		}
		up := f.Down()
		env.note("the API server is down")
		return func(context.Context) error { up(); return nil }, nil
	}
	rule := minikcm.APIFault{
		Match: a.match(), Share: share, Latency: time.Duration(a.Delay), Jitter: time.Duration(a.Spread),
		Code: a.Code, Reason: a.Reason, Message: a.Message, RetryAfter: a.RetryAfter,
	}
	if a.Action == APIStale {
		var err error
		if rule.Behind, err = env.revision(ctx); err != nil {
			return nil, err
		}
	}
	remove := f.Inject(rule)
	env.note("%s", a.title())
	return func(context.Context) error { remove(); return nil }, nil
}

// errNoRevision is of a cluster whose list has none.
var errNoRevision = errors.New("the API server does not say what its revision is")
