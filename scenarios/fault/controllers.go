package fault

import (
	"context"
	"errors"
)

// Controllers is a fault of that part.
type Controllers struct {
	Action string `yaml:"action"`
}

func (k *Controllers) check(c *checker) { c.action(k.Action, nil) }
func (k *Controllers) title() string    { return k.Action + " controllers" }
func (k *Controllers) lasts() bool      { return true }
func (k *Controllers) outside() bool    { return false }
func (k *Controllers) needs() Needs     { return Needs{} }

func (k *Controllers) inject(context.Context, *Env) (injected, error) {
	return nil, errors.New("is not known")
}
