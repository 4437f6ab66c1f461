package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/resources"
)

// Operation is what a request does to an object.
type Operation string

// The operations, as webhooks name them.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Attributes are what a plugin may know of a write.
type Attributes struct {
	Operation   Operation
	Resource    *resources.Resource
	Subresource string
	Namespace   string
	Name        string
	User        *auth.User
	DryRun      bool
	// Object is the new state, which a Mutator may change; nil for a delete.
	Object runtime.Object
	// Old is the state before an update or delete; it must not be changed.
	Old runtime.Object
}

// Mutator changes objects before they are validated.
type Mutator interface {
	Mutate(ctx context.Context, a *Attributes) error
}

// Checker refuses writes; it comes after validation.
type Checker interface {
	Check(ctx context.Context, a *Attributes) error
}

// Chain is an ordered list of plugins, each a Mutator, a Checker or both.
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

// Mutate runs all mutators; the first error ends it.
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	for _, m := range c.mutators {
		if err := m.Mutate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Check runs all checkers; the first error ends it.
func (c Chain) Check(ctx context.Context, a *Attributes) error {
	for _, v := range c.checkers {
		if err := v.Check(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
