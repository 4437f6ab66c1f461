package fault

import (
	"context"
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

// clockActions lists the actions on clocks.
var clockActions = []Action{
	{Name: ClockJump, Does: "set a virtual clock; timers that are set do not notice", Lasts: LastingIfFor},
	{Name: ClockSkew, Does: "let the clocks of nodes and controllers be off", Lasts: LastingAlways, Fields: []string{"nodes", "controllers"}},
}

// Clock is a fault of clocks.
type Clock struct {
	// Action is jump (the cluster's virtual clock is set forward or back; timers that are
	// set do not notice) or skew (some nodes' or controllers' clocks are off).
	Action string `yaml:"action,omitempty"`
	// By is the time by which a clock is set forward or is ahead; if negative, it is set back or is
	// behind.
	By Duration `yaml:"by,omitempty"`
	// Nodes are the names of the nodes whose clocks are off.
	Nodes []string `yaml:"nodes,omitempty"`
	// Controllers are the names of the controllers whose clocks are off.
	Controllers []string `yaml:"controllers,omitempty"`

	returns bool // the clock jumps back
}

func (k *Clock) check(c *checker) {
	c.row(k, k.Action)
	if k.By == 0 {
		c.problem("by", "is missing: say by how much, such as 5m or -30s")
	}
	if k.Action == ClockSkew && len(k.Nodes)+len(k.Controllers) == 0 {
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

func (k *Clock) action() (Action, bool) { return find(clockActions, k.Action) }
func (k *Clock) needs() Needs           { return Needs{} }

func (k *Clock) inject(_ context.Context, env *Env) (injected, error) {
	if k.Action == ClockSkew {
		return k.skew(env)
	}
	virtual, ok := env.Cluster.Clock().(*clock.Virtual)
	if !ok {
		return nil, errNotVirtual
	}
	env.Cluster.Kubelets().ClockChanges()
	virtual.Jump(time.Duration(k.By))
	env.Cluster.Kubelets().ClockChanged()
	env.note("the clock was set by %v", time.Duration(k.By))
	if !k.returns {
		return nil, nil
	}
	return func(context.Context) error {
		env.Cluster.Kubelets().ClockChanges()
		virtual.Jump(-time.Duration(k.By))
		env.Cluster.Kubelets().ClockChanged()
		return nil
	}, nil
}

func (k *Clock) skew(env *Env) (injected, error) {
	var undo []injected
	set := func(whose string, change func(by time.Duration) error) error {
		u, err := env.Holds.hold("clock of "+whose, func() error { return change(time.Duration(k.By)) }, func() error { return change(0) })
		if err == nil {
			undo = append(undo, u)
		}
		return err
	}
	for _, name := range k.Nodes {
		if err := set("node/"+name, func(by time.Duration) error { return env.Cluster.Kubelets().SkewNode(name, by) }); err != nil {
			return all(undo), err
		}
	}
	for _, name := range k.Controllers {
		if err := set(name, func(by time.Duration) error { return env.Cluster.Manager().Skew(name, by) }); err != nil {
			return all(undo), err
		}
	}
	env.note("%s", k.title())
	return all(undo), nil
}
