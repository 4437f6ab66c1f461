package fault

import (
	"context"
	"errors"
)

// Clock is a fault of that part.
type Clock struct {
	Action string `yaml:"action"`
}

func (k *Clock) check(c *checker) { c.action(k.Action, nil) }
func (k *Clock) title() string    { return k.Action + " clock" }
func (k *Clock) lasts() bool      { return true }
func (k *Clock) outside() bool    { return false }
func (k *Clock) needs() Needs     { return Needs{} }

func (k *Clock) inject(context.Context, *Env) (injected, error) {
	return nil, errors.New("is not known")
}
