package fault

import (
	"context"
	"errors"
)

// Etcd is a fault of that part.
type Etcd struct {
	Action string `yaml:"action"`
}

func (e *Etcd) check(c *checker) { c.action(e.Action, nil) }
func (e *Etcd) title() string    { return e.Action + " etcd" }
func (e *Etcd) lasts() bool      { return true }
func (e *Etcd) outside() bool    { return false }
func (e *Etcd) needs() Needs     { return Needs{} }

func (e *Etcd) inject(context.Context, *Env) (injected, error) {
	return nil, errors.New("is not known")
}
