package apiserver

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/request"
)

// ComponentHealth returns the reason why a component of the cluster is unhealthy; nil: it is
// healthy.
type ComponentHealth func() error

// errNotHere is the state of a component for which the server has no ComponentHealth.
var errNotHere = errors.New("it does not run in this process")

// component is the source of one ComponentStatus. As upstream, the store reports a
// problem as an error, other components as a message.
type component struct {
	name    string
	isStore bool
	check   func(ctx context.Context) error
}

func (s *Server) components() []component {
	of := func(health ComponentHealth) func(context.Context) error {
		return func(context.Context) error {
			if health == nil {
				return errNotHere
			}
			return health()
		}
	}
	return []component{
		{name: "scheduler", check: of(s.opts.Scheduler)},
		{name: "controller-manager", check: of(s.opts.Controllers)},
		{name: "etcd-0", isStore: true, check: s.checkStore},
	}
}

func (c *component) status(ctx context.Context) *corev1.ComponentStatus {
	condition := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"}
	if err := c.check(ctx); err != nil {
		condition.Status = corev1.ConditionFalse
		if condition.Message = err.Error(); c.isStore {
			condition.Message, condition.Error = "", err.Error()
		}
	}
	status := &corev1.ComponentStatus{Conditions: []corev1.ComponentCondition{condition}}
	status.Name = c.name
	return status
}

// ServeComponent serves GET on one ComponentStatus.
func (rq kindCall) ServeComponent(ctx context.Context) error {
	for _, c := range rq.server.components() {
		if c.name == rq.Name {
			return rq.WriteResult(http.StatusOK, c.status(ctx))
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "componentstatus"}, rq.Name)
}

// ServeComponentList serves GET on all ComponentStatuses, without paging.
func (rq kindCall) ServeComponentList(ctx context.Context) error {
	opts, err := rq.ListOptions()
	if err != nil {
		return err
	}
	p := &request.Page{}
	for _, c := range rq.server.components() {
		if opts.Label.Matches(labels.Set{}) && opts.Field.Matches(fields.Set{"metadata.name": c.name}) {
			p.Add(c.status(ctx))
		}
	}
	return rq.WriteList(p)
}
