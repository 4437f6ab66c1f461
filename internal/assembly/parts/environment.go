package parts

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/objectclient"
)

// newEnv returns the environment of the controllers.
func (p *Parts) newEnv() (*controllers.Env, error) {
	t := p.opts.Timing
	config := p.ownConfig("system:kube-controller-manager")
	kinds, err := informers.KindsFor(config, t.Ledger, informers.WithoutManagedFields(), informers.ByReference(), informers.Staged())
	if err != nil {
		return nil, err
	}
	recording := rest.CopyConfig(config)
	recording.UserAgent = "minikcm/event-recorder"
	client, err := objectclient.NewForConfig(recording)
	if err != nil {
		return nil, fmt.Errorf("making the event recorder's client: %w", err)
	}
	return &controllers.Env{
		Clock: t.Clock, Ledger: t.Ledger, Random: t.Random.Fork(), Config: config, Informers: kinds, Logger: p.opts.Logger,
		Recorder:  events.NewRecorder(client.CoreV1(), t.Clock, t.Ledger, t.Random.Fork(), "minikcm"),
		MintToken: p.opts.Identity.Signing.IssueLegacy, Account: p.accountConfig, Registry: p.opts.Metrics, Heartbeats: p.opts.Heartbeats,
		LoadBalancers: p.opts.LoadBalancers,
	}, nil
}

// ownConfig returns the configuration of one of the cluster's own parts, which use built-in
// kinds only and send protobuf.
func (p *Parts) ownConfig(user string, groups ...string) *rest.Config {
	return apiserver.Protobuf(p.opts.Local.Config(user, groups...))
}

// accountConfig returns the configuration of a controller, which acts as its service
// account.
func (p *Parts) accountConfig(account string) (*rest.Config, error) {
	const namespace = metav1.NamespaceSystem
	groups := auth.AccountGroups(namespace)
	if controllers.IsDriver(account) {
		groups = append(groups, user.SystemPrivilegedGroup)
	}
	return p.ownConfig(auth.AccountName(namespace, account), groups...), nil
}

// envOf returns a copy of the environment for a part that acts as user.
func (p *Parts) envOf(e *controllers.Env, user string) *controllers.Env {
	other := *e
	other.Config = p.ownConfig(user)
	other.Random = p.opts.Timing.Random.Fork()
	return &other
}

// IsPart reports whether a user is a controller or the scheduler of a cluster. Other service accounts in
// kube-system, such as an operator's, are not.
func IsPart(user string) bool {
	account := strings.TrimPrefix(user, auth.AccountName(metav1.NamespaceSystem, ""))
	return account == user || slices.ContainsFunc(controllers.Descriptors(), func(d controllers.Descriptor) bool { return d.Account == account })
}
