package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/resources"
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

// Attributes are the attributes of a write that plugins may use.
type Attributes struct {
	Operation   Operation
	Resource    *resources.Resource
	Subresource string
	Namespace   string
	Name        string
	User        *auth.User
	DryRun      bool
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

	upstream upstream.Attributes
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

// Chain is an ordered list of plugins, each of which is a Mutator, a Checker or both.
type Chain struct {
	mutators []Mutator
	checkers []Checker
}

// NewChain returns the chain of plugins, in order.
func NewChain(plugins ...any) Chain {
	var c Chain
	for _, p := range plugins {
		if m, ok := p.(Mutator); ok {
			c.mutators = append(c.mutators, m)
		}
		if v, ok := p.(Checker); ok {
			c.checkers = append(c.checkers, v)
		}
	}
	return c
}

// Mutate runs all mutators and stops at the first error. It runs them a second time if
// one of them requests that because a later one has changed the object (Kubernetes
// documentation, "Dynamic Admission Control: Reinvocation policy").
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	if err := c.mutateOnce(ctx, a); err != nil {
		return err
	}
	if a.upstream == nil || !a.upstream.GetReinvocationContext().ShouldReinvoke() {
		return nil
	}
	a.upstream.GetReinvocationContext().SetIsReinvoke()
	return c.mutateOnce(ctx, a)
}

func (c Chain) mutateOnce(ctx context.Context, a *Attributes) error {
	for _, m := range c.mutators {
		if err := m.Mutate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Check runs all checkers and stops at the first error.
func (c Chain) Check(ctx context.Context, a *Attributes) error {
	for _, v := range c.checkers {
		if err := v.Check(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
