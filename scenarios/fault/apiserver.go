package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// restartTime is how long the API server is down during a restart.
const restartTime = Duration(5 * time.Second)

// metFields are the fields that select the requests which a fault of the API server meets.
var metFields = []string{"verbs", "resources", "namespaces", "users", "userAgents", "percent"}

// apiActions lists the actions on the API server.
var apiActions = []Action{
	{Name: APILatency, Does: "let requests take longer", Lasts: LastingAlways, Fields: append([]string{"delay", "spread"}, metFields...)},
	{Name: APIError, Does: "let requests fail with an HTTP status, before anything is done", Lasts: LastingAlways, Fields: append([]string{"code", "reason", "message", "retryAfter"}, metFields...)},
	{Name: APIConflicts, Does: "let updates and patches fail with 409", Lasts: LastingAlways, Fields: append([]string{"message"}, metFields...)},
	{Name: APITooManyRequests, Does: "let requests fail with 429", Lasts: LastingAlways, Fields: append([]string{"message", "retryAfter"}, metFields...)},
	{Name: APIDropWatches, Does: "end the watches that are open", Fields: metFields},
	{Name: APIStale, Does: "answer gets and lists with resourceVersion=0 as of the beginning", Lasts: LastingAlways, Fields: metFields},
	{Name: APICompact, Does: "forget history: older versions are 410 Gone"},
	{Name: APIRestart, Does: "refuse connections for a while (default 5s); watches and history are gone", Lasts: LastingAlways},
}

// APIServer is a fault of the API server. It passes over the scenario's own requests.
type APIServer struct {
	// Action is latency, error, conflicts (writes get 409), tooManyRequests (429),
	// dropWatches, stale (gets and lists with resourceVersion=0 are answered as of the
	// fault's beginning), compact (history is forgotten now) or restart.
	Action string `yaml:"action,omitempty"`
	// Verbs are the verbs of the requests, such as get, list, create; default all.
	Verbs []string `yaml:"verbs,omitempty"`
	// Resources are the requested resources, such as pods, pods/status, deployments.apps; default
	// all.
	Resources []string `yaml:"resources,omitempty"`
	// Namespaces are the namespaces of the requests; default all.
	Namespaces []string `yaml:"namespaces,omitempty"`
	// Users are the users whose requests are affected; default all.
	Users []string `yaml:"users,omitempty"`
	// UserAgents are parts of the User-Agents whose requests are affected; default all.
	UserAgents []string `yaml:"userAgents,omitempty"`
	// Percent is the percentage of these requests that are affected; default 100.
	Percent int `yaml:"percent,omitempty"`
	// Delay is added to the duration of each request.
	Delay Duration `yaml:"delay,omitempty"`
	// Spread is the upper bound of a random duration that is added to Delay.
	Spread Duration `yaml:"spread,omitempty"`
	// Code is the HTTP status of the errors; default 500.
	Code int `yaml:"code,omitempty"`
	// Reason is the reason in the Status; default the code's reason.
	Reason string `yaml:"reason,omitempty"`
	// Message is the message in the Status; default the code's message.
	Message string `yaml:"message,omitempty"`
	// RetryAfter is the number of seconds after which clients are asked to try again; default 1 for
	// tooManyRequests.
	RetryAfter int `yaml:"retryAfter,omitempty"`
}

func (a *APIServer) check(c *checker) {
	c.row(a, a.Action)
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for i, verb := range a.Verbs {
		if !slices.Contains(verbs, verb) {
			c.problem(fmt.Sprintf("verbs[%d]", i), "%q is not a verb; known are %s", verb, strings.Join(verbs, ", "))
		}
	}
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
		if len(a.Verbs) == 0 {
			a.Verbs = []string{"update", "patch"}
		}
	case APITooManyRequests:
		a.RetryAfter = max(a.RetryAfter, 1)
	case APIRestart:
		if c.fault.For == 0 {
			c.fault.For = restartTime
		}
	}
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
	return text + shareOf(a.Percent)
}

// shareOf is the end of the title of a fault that meets only a part.
func shareOf(percent int) string {
	if percent == 0 || percent == 100 {
		return ""
	}
	return fmt.Sprintf(" (%d%%)", percent)
}

func (a *APIServer) action() (Action, bool) { return find(apiActions, a.Action) }
func (a *APIServer) needs() Needs           { return Needs{API: a.Action != APICompact} }

// status is the HTTP status that requests fail with; 0 if they do not fail.
func (a *APIServer) status() int {
	switch a.Action {
	case APIConflicts:
		return http.StatusConflict
	case APITooManyRequests:
		return http.StatusTooManyRequests
	}
	return a.Code
}

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
		Code: a.status(), Reason: a.Reason, Message: a.Message, RetryAfter: a.RetryAfter,
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

// errNoRevision is returned if a list has no resourceVersion.
var errNoRevision = errors.New("the API server does not say what its revision is")
