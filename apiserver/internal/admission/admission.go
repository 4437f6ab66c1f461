package admission

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/reasons"
)

// Operation is the operation of a request.
type Operation string

// The operations, with the names that webhooks use.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
	// Connect opens a stream to a container, or a proxy connection. Its object is the
	// options.
	Connect Operation = "CONNECT"
)

// Require makes a write depend on a key of the store, which may change after admission. The object is
// stored if the key is at revision then, or at one that renew returns; otherwise the request fails
// with the error of renew.
type Require func(key string, revision int64, renew func(ctx context.Context) (int64, error))

// Options are the options of a request that webhooks and policies see, besides dryRun.
type Options struct {
	// FieldManager and FieldValidation are the client's query parameters of a create or an update.
	FieldManager, FieldValidation string
	// Deletion has all options of a delete.
	Deletion *metav1.DeleteOptions
}

// Attributes are the attributes of a write that plugins may use.
type Attributes struct {
	Operation   Operation
	Resource    *resources.Resource
	Subresource string
	Namespace   string
	Name        string
	User        *auth.User
	DryRun      bool
	// Options are the other options of the request, which plugins see.
	Options Options
	// Object is the new state, which a Mutator may modify; nil for a delete.
	Object runtime.Object
	// Old is the state before an update or delete; it must not be modified.
	Old runtime.Object
	// Kind is the kind of Object; empty means the resource's kind.
	Kind schema.GroupVersionKind
	// Warn sends a warning to the client; nil: warnings are dropped.
	Warn func(text string)
	// AtEnd registers a function to call when the request has ended: whatever it writes has
	// then been stored or refused. Nil calls it at once.
	AtEnd func(ended func())
	// Require is nil if nothing is stored.
	Require Require
	// Refused is called with the refuser of the write, and the error; it may be nil.
	Refused func(by reasons.Refuser, err error)

	upstream upstream.Attributes
	// refuser names the plugin, webhook or policy that the error of the running plugin comes from.
	refuser reasons.Refuser
}

// RefuseBy names the refuser of the write: the plugin that runs calls it before it returns its error. Without
// a call, the plugin itself refuses the write.
func (a *Attributes) RefuseBy(kind reasons.RefuserKind, name, of string) {
	a.refuser = reasons.Refuser{Kind: kind, Name: name, Of: of}
}

func (a *Attributes) atEnd(ended func()) {
	if a.AtEnd == nil {
		ended()
		return
	}
	a.AtEnd(ended)
}

// Mutator modifies objects before they are validated.
type Mutator interface {
	Mutate(ctx context.Context, a *Attributes) error
}

// Checker rejects writes; it runs after validation.
type Checker interface {
	Check(ctx context.Context, a *Attributes) error
}

// Named is a plugin of the table.
type Named struct {
	Name string
	// Operations are the operations that its metrics count; nil: all.
	Operations []Operation
	Plugin     any
}

// Observer records how long admission takes; see upstream's metrics apiserver_admission_*.
type Observer interface {
	// Begin returns the function that returns the time since.
	Begin() func() time.Duration
	// Plugin and Step record the part of a plugin, and of all plugins, in one step: the changes
	// to objects, or the checks.
	Plugin(name string, checks bool, op Operation, rejected bool, took time.Duration)
	Step(checks bool, op Operation, rejected bool, took time.Duration)
}

// Chain is an ordered list of plugins, each of which is a Mutator, a Checker or both.
type Chain struct {
	mutators []part
	checkers []part
	// Observer may be nil.
	Observer Observer
}

// part is one step of a plugin: its changes to objects, or its checks.
type part struct {
	name   string
	counts func(Operation) bool
	do     func(ctx context.Context, a *Attributes) error
}

// NewChain returns the chain of plugins, in order. The plugins that are Named have metrics.
func NewChain(plugins ...any) Chain {
	var c Chain
	for _, p := range plugins {
		one := part{counts: func(Operation) bool { return false }}
		if named, ok := p.(Named); ok {
			p, one.name = named.Plugin, named.Name
			one.counts = func(op Operation) bool { return named.Operations == nil || slices.Contains(named.Operations, op) }
		}
		if m, ok := p.(Mutator); ok {
			one.do = m.Mutate
			c.mutators = append(c.mutators, one)
		}
		if v, ok := p.(Checker); ok {
			one.do = v.Check
			c.checkers = append(c.checkers, one)
		}
	}
	return c
}

// Mutate runs all mutators and stops at the first error. It runs them a second time if
// one of them requests that because a later one has changed the object (Kubernetes
// documentation, "Dynamic Admission Control: Reinvocation policy").
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	if err := c.run(ctx, a, c.mutators, false); err != nil {
		return err
	}
	if a.upstream == nil || !a.upstream.GetReinvocationContext().ShouldReinvoke() {
		return nil
	}
	a.upstream.GetReinvocationContext().SetIsReinvoke()
	return c.run(ctx, a, c.mutators, false)
}

// Check runs all checkers and stops at the first error.
func (c Chain) Check(ctx context.Context, a *Attributes) error {
	return c.run(ctx, a, c.checkers, true)
}

// run runs one step. A plugin that refuses the write without a call of RefuseBy is the refuser itself.
func (c Chain) run(ctx context.Context, a *Attributes, parts []part, checks bool) (err error) {
	var elapsed func() time.Duration
	var at time.Duration
	if c.Observer != nil {
		elapsed = c.Observer.Begin()
	}
	for i := range parts {
		p := &parts[i]
		a.refuser = reasons.Refuser{Kind: reasons.ByPlugin, Name: p.name}
		err = p.do(ctx, a)
		if elapsed != nil {
			begun := at
			if at = elapsed(); p.counts(a.Operation) {
				c.Observer.Plugin(p.name, checks, a.Operation, err != nil, at-begun)
			}
		}
		if err != nil {
			if a.Refused != nil {
				a.Refused(a.refuser, err)
			}
			break
		}
	}
	if elapsed != nil {
		c.Observer.Step(checks, a.Operation, err != nil, at)
	}
	return err
}
