package fault

import (
	"context"
	"errors"
)

// APIServer is a fault of that part.
type APIServer struct {
	Action string `yaml:"action"`
}

func (a *APIServer) check(c *checker) { c.action(a.Action, nil) }
func (a *APIServer) title() string    { return a.Action + " apiserver" }
func (a *APIServer) lasts() bool      { return true }
func (a *APIServer) outside() bool    { return false }
func (a *APIServer) needs() Needs     { return Needs{} }

func (a *APIServer) inject(context.Context, *Env) (injected, error) {
	return nil, errors.New("is not known")
}
