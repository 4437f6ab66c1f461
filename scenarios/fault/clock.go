package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"minikcm.dev/minikcm/clock"
)

// The actions of clocks.
const (
	ClockJump = "jump"
	ClockSkew = "skew"
)

// Clock is a fault of clocks.
type Clock struct {
	// Action is jump (the cluster's virtual clock is set forward or back; timers that are
	// set do not notice) or skew (some nodes' or controllers' clocks are off).
	Action string `yaml:"action"`
	// By is by how much; negative is back.
	By Duration `yaml:"by"`
	// Nodes and Controllers are whose clocks are off.
	Nodes       []string `yaml:"nodes"`
	Controllers []string `yaml:"controllers"`

	returns bool // the clock jumps back
}

func (k *Clock) check(c *checker) {
	c.action(k.Action, []string{ClockJump, ClockSkew})
	whose := len(k.Nodes)+len(k.Controllers) > 0
	c.only("nodes", whose, k.Action, ClockSkew)
	if k.By == 0 {
		c.problem("by", "is missing: say by how much, such as 5m or -30s")
	}
	if k.Action == ClockSkew && !whose {
		c.problem("nodes", "or controllers are missing: say whose clock is off")
	}
	k.returns = c.fault.For > 0
}

func (k *Clock) title() string {
	if k.Action == ClockJump {
		return fmt.Sprintf("set the clock by %v", time.Duration(k.By))
	}
	return fmt.Sprintf("let the clocks of %s be off by %v", strings.Join(append(append([]string{}, k.Nodes...), k.Controllers...), ", "), time.Duration(k.By))
}

func (k *Clock) lasts() bool   { return k.Action == ClockSkew || k.returns }
func (k *Clock) outside() bool { return false }
func (k *Clock) needs() Needs  { return Needs{} }

func (k *Clock) inject(_ context.Context, env *Env) (injected, error) {
	if k.Action == ClockSkew {
		return k.skew(env)
	}
	virtual, ok := env.Cluster.Clock().(*clock.Virtual)
	if !ok {
		return nil, errors.New("only a virtual clock can be set")
	}
	virtual.Jump(time.Duration(k.By))
	env.Cluster.Kubelets().ClockWasSet()
	env.note("the clock was set by %v", time.Duration(k.By))
	if !k.returns {
		return nil, nil
	}
	return func(context.Context) error {
		virtual.Jump(-time.Duration(k.By))
		env.Cluster.Kubelets().ClockWasSet()
		return nil
	}, nil
}

func (k *Clock) skew(env *Env) (injected, error) {
	var undo []injected
	set := func(change func(time.Duration) error) error {
		undo = append(undo, func(context.Context) error { return change(0) })
		return change(time.Duration(k.By))
	}
	for _, name := range k.Nodes {
		if err := set(func(by time.Duration) error { return env.Cluster.Kubelets().SkewNode(name, by) }); err != nil {
			return nil, err
		}
	}
	for _, name := range k.Controllers {
		if err := set(func(by time.Duration) error { return env.Cluster.Manager().Skew(name, by) }); err != nil {
			return all(undo[:len(undo)-1]), err
		}
	}
	env.note("%s", k.title())
	return all(undo), nil
}
