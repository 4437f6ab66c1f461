package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikcm.dev/minikcm"
)

// The actions of webhooks.
const (
	WebhookDown             = "down"
	WebhookSlow             = "slow"
	WebhookDeny             = "deny"
	WebhookWrongCertificate = "wrongCertificate"
)

// webhookActions lists the actions on admission webhooks.
var webhookActions = []Action{
	{Name: WebhookDown, Does: "let calls fail: connections are refused", Lasts: LastingAlways},
	{Name: WebhookSlow, Does: "let calls take longer; they fail at the webhook's timeoutSeconds", Lasts: LastingAlways, Fields: []string{"delay"}},
	{Name: WebhookDeny, Does: "let webhooks refuse the requests", Lasts: LastingAlways, Fields: []string{"code", "message"}},
	{Name: WebhookWrongCertificate, Does: "let calls fail: no caBundle has signed the certificate", Lasts: LastingAlways},
}

// The errors with which calls fail, as net/http returns them.
var (
	errRefused     = errors.New("dial tcp: connect: connection refused")
	errCertificate = errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
)

// Webhooks is a fault of admission webhooks. It passes over the scenario's own requests.
type Webhooks struct {
	// Action is down (connections are refused), slow, deny (the webhook refuses the requests) or
	// wrongCertificate.
	Action string `yaml:"action,omitempty"`
	// Names are the names of webhooks or of their configurations; default all.
	Names []string `yaml:"names,omitempty"`
	// Percent is the percentage of the calls that are affected; default 100.
	Percent int `yaml:"percent,omitempty"`
	// Delay is added to the duration of each call. A call that would last longer than
	// timeoutSeconds fails then.
	Delay Duration `yaml:"delay,omitempty"`
	// Code is the HTTP status of a refusal; default 403.
	Code int `yaml:"code,omitempty"`
	// Message is the message of a refusal.
	Message string `yaml:"message,omitempty"`
}

func (w *Webhooks) check(c *checker) {
	c.row(w, w.Action)
	if w.Percent < 0 || w.Percent > 100 {
		c.problem("percent", "is from 1 to 100: %d", w.Percent)
	}
	switch w.Action {
	case WebhookSlow:
		c.positive("delay", w.Delay)
	case WebhookDeny:
		if w.Code == 0 {
			w.Code = 403
		}
		if w.Code < 400 || w.Code > 599 {
			c.problem("code", "is from 400 to 599: %d", w.Code)
		}
	}
}

func (w *Webhooks) title() string {
	which := "all webhooks"
	if len(w.Names) > 0 {
		which = "webhook " + strings.Join(w.Names, ", ")
	}
	return map[string]string{
		WebhookDown: "take " + which + " away", WebhookSlow: fmt.Sprintf("slow down %s by %v", which, time.Duration(w.Delay)),
		WebhookDeny: fmt.Sprintf("let %s refuse requests", which), WebhookWrongCertificate: fmt.Sprintf("give %s a wrong certificate", which),
	}[w.Action]
}

func (w *Webhooks) action() (Action, bool) { return find(webhookActions, w.Action) }
func (w *Webhooks) needs() Needs           { return Needs{API: true} }

func (w *Webhooks) inject(_ context.Context, env *Env) (injected, error) {
	f := env.Cluster.APIFaults()
	for _, user := range env.Exempt {
		if !f.IsExempt(user) {
			f.Exempt(user)
		}
	}
	rule := minikcm.WebhookFault{Names: w.Names, Share: float64(w.Percent) / 100}
	switch w.Action {
	case WebhookDown:
		rule.Err = errRefused
	case WebhookSlow:
		rule.Latency = time.Duration(w.Delay)
	case WebhookDeny:
		rule.Denies, rule.Code, rule.Message = true, int32(w.Code), w.Message
	case WebhookWrongCertificate:
		rule.Err = errCertificate
	}
	remove := f.InjectWebhook(rule)
	env.note("%s", w.title())
	return func(context.Context) error { remove(); return nil }, nil
}
